"""Exact sums over clients: uploads that are added, not averaged.

Statistics of all rows are often sums over clients: of rows, of x'x, of gradients. The loop mixes uploads with
weights that add up to one, single precision, whatever they are. So a client sends a one beside its sums, and

    sum_i s_i  =  accepted * (sum_i w s_i) / (sum_i w 1)          for equal weights w

in which the weight cancels to the last digit. Clients must count equally.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..algorithms.base import Aggregate
from ..data import Federation
from ..errors import ConfigError
from ..typing import PyTree, Upload


def as_summand(tree: PyTree) -> Upload:
    """What a client uploads so that the server can add it up."""
    return {"summand": tree, "one": jnp.ones(())}


def sum_of(mixed: Aggregate) -> PyTree:
    """The sum over the accepted clients of what they gave to :func:`as_summand`."""
    factor = mixed.accepted / mixed.total["one"]
    return jax.tree.map(lambda leaf: leaf * factor, mixed.total["summand"])


def check_equal_importance(federation: Federation) -> None:
    """Raise where clients do not count equally, so that sums would be wrong."""
    if np.ptp(federation.importance) > 0:
        raise ConfigError("sums over clients need clients that count equally; use with_importance('equal').")
