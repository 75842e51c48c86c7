"""Column-stochastic (push-sum) mixing weights.

Where silos are not heard equally often, weights whose rows sum to one favor some of them. Push-sum needs
only that *columns* do: a silo that sends to d others gives each of them, and keeps, a part of 1 / (1 + d).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..typing import Float64s


def pushing(weights: ArrayLike) -> Float64s:
    """Receivers by senders, on the arcs of given weights: equal parts to everyone who hears, and to oneself.

    >>> pushing([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.3, 0.3, 0.4]]).sum(axis=0)
    array([1., 1., 1.])
    """
    heard = np.asarray(weights) > 0
    np.fill_diagonal(heard, True)
    return heard / heard.sum(axis=0)
