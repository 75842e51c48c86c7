"""Train, validation and test split of each client's rows.

Each client is cut by the same fractions, rounded to the nearest row, and always keeps at least one row to
train on. The cut of client i depends on (seed, i) and on its number of rows only, never on who the other
clients are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.random import bits
from ..errors import ConfigError
from ..typing import Array, Int64s

TRAIN, VALIDATION, TEST = 0, 1, 2
PARTS = ("train", "validation", "test")


def check_fractions(test: float, validation: float) -> None:
    """Both fractions are at least 0 and leave something to train on."""
    if not (test >= 0 and validation >= 0 and test + validation < 1):
        raise ConfigError(
            f"test fraction {test} and validation fraction {validation} leave nothing to train on; "
            "both must be at least 0 and their sum below 1."
        )


def part_sizes(sizes: Int64s, fraction: float, kept: Int64s | int) -> Int64s:
    """`fraction` of every size, rounded, leaving at least `kept + 1` rows where there are that many."""
    wanted = np.floor(sizes * fraction + 0.5).astype(np.int64)
    return np.minimum(wanted, np.maximum(sizes - 1 - kept, 0))


def assign_parts(
    owners: Array,
    clients: int,
    test_fraction: float,
    validation_fraction: float,
    seed: int,
    ordered: bool = False,
) -> NDArray[np.int8]:
    """The part (train 0, validation 1, test 2) of every row, given the client that owns it.

    With `ordered`, rows are a sequence in time: a client trains on its first rows and is tested on its last.

    >>> assign_parts(np.array([0, 0, 0, 0, 1]), 2, 0.25, 0.25, seed=0, ordered=True)
    array([0, 0, 1, 2, 0], dtype=int8)
    """
    check_fractions(test_fraction, validation_fraction)
    sizes = np.bincount(owners, minlength=clients)
    test = part_sizes(sizes, test_fraction, 0)
    validation = part_sizes(sizes, validation_fraction, test)
    order, owner, rank = _rank_rows(owners, sizes)
    if not ordered:
        order = order[np.lexsort((bits(seed, "split", owner, rank), owner))]
    left = sizes[owner] - rank  # how many rows of the client come at or after this one
    parts = np.empty(len(owners), np.int8)
    parts[order] = np.where(
        left <= test[owner], TEST, np.where(left <= (test + validation)[owner], VALIDATION, TRAIN)
    )
    return parts


def _rank_rows(owners: Array, sizes: Int64s) -> tuple[Int64s, Array, Int64s]:
    """Rows sorted by owner, the owner of each, and its place among the owner's rows."""
    order = np.argsort(owners, kind="stable")
    owner = owners[order]
    starts = np.cumsum(sizes) - sizes
    return order, owner, np.arange(len(owners)) - starts[owner]
