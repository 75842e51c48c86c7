"""Size distributions: how many rows does each client get?

Sizes are whole, at least one, and add up to the rows there are. Unequal ones follow a log-normal law (as in
LEAF: Caldas et al., "LEAF: A Benchmark for Federated Settings", 2018) or a power law (Li et al., "Federated
Optimization in Heterogeneous Networks", 2020): a few large clients and many small ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..core.registry import Registry
from ..errors import ConfigError
from ..typing import Array, Float64s, Int64s

Sizes = Sequence[int] | Array | str | None

size_law_registry: Registry[Int64s] = Registry("size law", "sizes")


def largest_remainder(shares: Float64s, total: int) -> Int64s:
    """Whole numbers that add up to `total`, each within one of its share of it (shares add up to one).

    >>> largest_remainder(np.array([0.5, 0.3, 0.2]), 4)
    array([2, 1, 1])
    """
    exact = shares * total
    counts = np.floor(exact).astype(np.int64)
    missing = total - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:missing]] += 1
    return counts


def whole(value: float, what: str) -> int:
    """A number that must be whole and at least one."""
    if not isinstance(value, (int, float, np.integer)) or value != int(value) or value < 1:
        raise ConfigError(f"{what} is {value!r}; it must be a whole number of at least 1.")
    return int(value)


def check_clients(rows: int, clients: int) -> None:
    """There is at least one client, and a row for each."""
    whole(clients, "the number of clients")
    if clients > rows:
        raise ConfigError(f"{clients} clients cannot share {rows} rows; ask for at most {rows} clients.")


@size_law_registry.add("equal")
def equal(*, rows: int, clients: int) -> Int64s:
    """The same for everyone; sizes differ by at most one."""
    return rows // clients + (np.arange(clients) < rows % clients).astype(np.int64)


@size_law_registry.add("lognormal")
def lognormal(sigma: float = 1.0, *, rows: int, clients: int, rng: np.random.Generator) -> Int64s:
    """Log-normal sizes; `lognormal:2` is very unequal, `lognormal:0` equal."""
    return _from_logarithms(sigma * rng.standard_normal(clients), rows)


@size_law_registry.add("powerlaw")
def powerlaw(exponent: float = 2.0, *, rows: int, clients: int, rng: np.random.Generator) -> Int64s:
    """Sizes with density proportional to size to the minus `exponent`; nearer 1 is more unequal."""
    if exponent <= 1:
        raise ConfigError(f"powerlaw exponent {exponent} is not possible; it must be above 1.")
    return _from_logarithms(rng.standard_exponential(clients) / (exponent - 1), rows)


def draw_sizes(sizes: Sizes, rows: int, clients: int, rng: np.random.Generator, spare: bool = True) -> Int64s:
    """Sizes from a list of them, the name of a law (`lognormal:1`), or None for equal ones.

    A list may leave rows over; unless `spare` is False (rows may be used twice) it may not ask for more
    than there are.
    """
    if sizes is None or isinstance(sizes, str):
        check_clients(rows, clients)
        return size_law_registry.make(sizes or "equal", rows=rows, clients=clients, rng=rng)
    given = np.asarray(sizes, dtype=np.int64)
    if given.shape != (clients,) or given.min(initial=1) < 1:
        raise ConfigError(f"sizes must be {clients} whole numbers of at least 1, one per client.")
    if spare and given.sum() > rows:
        raise ConfigError(f"sizes add up to {given.sum()} but there are {rows} rows; ask for fewer.")
    return given


def allot(
    total: int, shares: Float64s, room: Int64s, divide: Callable[[Float64s, int], Int64s] = largest_remainder
) -> Int64s:
    """`total` rows over classes in proportion to `shares`, never more of a class than its `room`.

    What a full class cannot give is asked of the others in proportion to their shares (or, where those are
    all zero, to their room). Each turn fills a class or ends, so there are at most as many turns as
    classes; `total` may not be more than all the room there is.

    >>> allot(10, np.array([0.8, 0.1, 0.1]), np.array([4, 9, 9]))
    array([4, 3, 3])
    """
    counts = np.zeros_like(room)
    for _ in room:
        free = room - counts
        missing = total - int(counts.sum())
        if missing == 0:
            return counts
        weights = np.where(free > 0, shares, 0.0)
        if weights.sum() <= 0:
            weights = free.astype(np.float64)
        counts += np.minimum(divide(weights / weights.sum(), missing), free)
    return counts + _first_come(room - counts, total - int(counts.sum()))


def _first_come(free: Int64s, missing: int) -> Int64s:
    """`missing` rows from the first classes with room: the last resort when rounding ate a share."""
    return np.diff(np.minimum(np.cumsum(free), missing), prepend=0)


def _from_logarithms(logarithms: Float64s, rows: int) -> Int64s:
    """One row for everyone, the others in proportion to the exponentials, which must not overflow."""
    weights = np.exp(logarithms - logarithms.max())
    return 1 + largest_remainder(weights / weights.sum(), rows - len(weights))
