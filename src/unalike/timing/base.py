"""When do results arrive, and from which model did they start?

A timing turns cohorts into :class:`Step` objects: which clients report, which version of the model each
started from, what their uploads weigh, and the simulated clock. Version v is the server's state after v
steps; a synchronous step number r starts from version r.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..participation import Cohort
from ..registry import Registry

Draw = Callable[[int], Cohort]


@dataclass(frozen=True)
class Step:
    """One aggregation: some clients' results, each from some version of the model, mixed by weights."""

    number: int
    clients: NDArray[np.int64]
    versions: NDArray[np.int64]
    weights: NDArray[np.float64]
    """One weight per client, or a mixing matrix (receivers x clients)."""
    time: float = 0.0
    keep_from: int = 0
    """The oldest version that a later step may still start from."""


class Timing:
    """Turns cohorts into steps."""

    def steps(self, draw: Draw, first: int) -> Iterator[Step]:
        """Steps number `first`, `first + 1`, ... without end; a schedule is replayed up to `first`, not
        trained."""
        raise NotImplementedError


timings: Registry[Timing] = Registry("timing")
