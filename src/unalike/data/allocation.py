"""Row allocation: random assignment of rows to clients of given sizes.

The moves that partitions share: proportions that survive a tiny alpha, pools that clients take from in
turn, classes spread over clients, and a row for everyone who would have none.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import ConfigError
from ..typing import Array, Bools, Float64s, Int64s
from .sizes import largest_remainder

Rows = list[Int64s]
Rng = np.random.Generator


def index_labels(labels: Array) -> tuple[Array, Int64s]:
    """The distinct labels, and for every row the place of its label among them."""
    if labels.ndim != 1 or labels.dtype.kind == "f":
        raise ConfigError(
            "this partition needs one class label per row; use 'iid', 'lognormal' or 'powerlaw'."
        )
    classes, y = np.unique(labels, return_inverse=True)
    return classes, y


def proportions(alpha: float, draws: int, length: int, rng: Rng, base: Float64s | None = None) -> Float64s:
    """Dirichlet(alpha, ..., alpha) vectors; one-hot for a tiny alpha, and one-hot in turn for 0.

    Gamma variates with a tiny shape all underflow to zero. Their logarithms do not: if g ~ Gamma(alpha + 1)
    and u is uniform then g u^(1/alpha) ~ Gamma(alpha), and log u / alpha is an ordinary number.

    With `base` proportions the parameters are not all alpha but follow them, with alpha as their mean.

    >>> proportions(1e-8, 2, 3, np.random.default_rng(0)).max(axis=1)
    array([1., 1.])
    """
    if not alpha >= 0:
        raise ConfigError(f"a Dirichlet parameter of {alpha} is not possible; it must be at least 0.")
    if alpha == 0:
        return np.eye(length)[np.arange(draws) % length]
    base = np.full(length, 1 / length) if base is None else base
    if np.isinf(alpha):
        return np.tile(base, (draws, 1))
    shape = max(alpha, 1e-100) * length * base
    logs = (
        np.log(rng.standard_gamma(shape + 1, (draws, length)))
        - rng.standard_exponential((draws, length)) / shape
    )
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def fair_rounding(rng: Rng) -> Callable[[Float64s, int], Int64s]:
    """Whole counts within one of each share, right on average, that add up to the total."""

    def divide(shares: Float64s, total: int) -> Int64s:
        edges = np.floor(np.cumsum(shares) * total + rng.random()).astype(np.int64)
        edges[-1] = total
        return np.diff(edges, prepend=0)

    return divide


def multinomial(rng: Rng) -> Callable[[Float64s, int], Int64s]:
    """Divide by chance instead of by rounding."""
    return lambda shares, total: rng.multinomial(total, shares)


def rows_by_class(y: Int64s) -> Rows:
    """The rows of every class."""
    return group_rows(y, int(y.max()) + 1)


def group_rows(owners: Int64s, clients: int) -> Rows:
    """The rows of every owner; a negative owner is nobody."""
    rows = np.argsort(owners, kind="stable")[int((owners < 0).sum()) :]
    return split_rows(rows, np.bincount(owners[rows], minlength=clients))


def split_rows(rows: Int64s, sizes: Int64s) -> Rows:
    """Consecutive pieces of these sizes; what is left over goes to nobody."""
    return np.split(rows, np.cumsum(sizes))[: len(sizes)]


def take_in_turn(pools: Rows, order: Int64s, choose: Callable[[int, Int64s], Int64s]) -> Rows:
    """Clients take from the front of every class's pool, in this order, the numbers that `choose` says."""
    sizes = np.array([len(pool) for pool in pools])
    used = np.zeros_like(sizes)
    taken: Rows = [used] * len(order)
    for client in order.tolist():
        counts = choose(client, sizes - used)
        some = np.flatnonzero(counts)
        taken[client] = np.concatenate([pools[c][used[c] : used[c] + counts[c]] for c in some])
        used = used + counts
    return taken


def draw_with_replacement(pools: Rows, shares: Float64s, size: int, rng: Rng) -> Int64s:
    """Rows of every class in these proportions, from pools that never run out."""
    counts = largest_remainder(shares, size)
    return np.concatenate([rng.choice(pools[c], counts[c]) for c in np.flatnonzero(counts)])


def spread(groups: Int64s, alpha: float, clients: int, rng: Rng) -> Rows:
    """Each group's rows over the clients by its own Dirichlet draw."""
    owners = np.empty(len(groups), np.int64)
    pools = rows_by_class(groups)
    shares = proportions(alpha, len(pools), clients, rng)
    for rows, share in zip(pools, shares, strict=True):
        owners[rng.permutation(rows)] = np.repeat(np.arange(clients), rng.multinomial(len(rows), share))
    return group_rows(nobody_empty(owners, clients, rng), clients)


def nobody_empty(owners: Int64s, clients: int, rng: Rng) -> Int64s:
    """Give everyone without rows one that its owner can spare (or that nobody has), chosen at random."""
    empty = np.flatnonzero(np.bincount(owners[owners >= 0], minlength=clients) == 0)
    _, keep = np.unique(owners, return_index=True)
    spare = np.setdiff1d(np.arange(len(owners)), keep[owners[keep] >= 0])
    owners = owners.copy()
    owners[rng.choice(spare, len(empty), replace=False)] = empty
    return owners


def balanced_choice(clients: int, classes: int, per_client: int, rng: Rng) -> Bools:
    """For every client a few distinct classes, so that all classes are held equally often (within one)."""
    holds = np.zeros((clients, classes), bool)
    used = np.zeros(classes)
    for mine in holds:
        # Whole numbers of uses, with a fraction that breaks ties at random.
        mine[np.argsort(used + rng.random(classes))[:per_client]] = True
        used += mine
    return holds
