"""Controlled class imbalance and size imbalance of a partition.

E. Buttaci, "Does Perturbation Aid Convergence?" (MSc thesis, Politecnico di Torino), section 3.3. With class
imbalance c and data imbalance d, among n clients,

    s_i ~ LogNormal(ln n0, d),      R_k ~ Dirichlet(1/c, ..., 1/c) over clients, for every class k,

client i wants s_i R_ik / sum_k R_ik rows of class k. What a class cannot give, and what is left over, goes
mostly to those who still miss rows. Where the draw is strict, everyone has what it wants: there are clients
only until a class runs out, and rows that are left are nobody's.
"""

from __future__ import annotations

import numpy as np

from ..errors import ConfigError
from ..typing import Array, Float64s, Int64s
from .allocation import Rows, index_labels, proportions, rows_by_class
from .sizes import check_clients

Rng = np.random.Generator
_OWN_SHARE = 0.25
"""How much a client's missing rows of all classes count beside those of the class that is dealt."""


def deal_by_imbalance(
    labels: Array,
    clients: int,
    class_imbalance: float,
    data_imbalance: float,
    rng: Rng,
    strict: bool = False,
) -> Rows:
    """Rows of every client; those who would have none are left out, and where it is `strict` all those from
    the first on who cannot have what they want.

    >>> rows = deal_by_imbalance(np.arange(60) % 3, 4, 0.0, 0.0, np.random.default_rng(0))
    >>> [np.bincount(mine % 3).tolist() for mine in rows]
    [[5, 5, 5], [5, 5, 5], [5, 5, 5], [5, 5, 5]]
    """
    _, y = index_labels(labels)
    check_clients(len(y), clients)
    for name, value in (("class imbalance", class_imbalance), ("data imbalance", data_imbalance)):
        if not 0 <= value < np.inf:
            raise ConfigError(f"a {name} of {value} is not possible; it must be at least 0 and finite.")
    pools = [rng.permutation(rows) for rows in rows_by_class(y)]
    room = np.array([len(pool) for pool in pools])
    sizes = draw_log_normal_sizes(int((room // clients).sum()), clients, data_imbalance, rng)
    shares = draw_label_shares(clients, len(pools), class_imbalance, rng)
    wanted = np.floor(sizes[:, None] * shares).astype(np.int64)
    if strict:
        given = _while_enough(wanted, room)
    else:
        given = _deal_the_rest(wanted, _first_come(wanted, room), room, rng)
    ends = np.cumsum(given, axis=0)
    dealt = [
        np.concatenate([pool[ends[i, k] - given[i, k] : ends[i, k]] for k, pool in enumerate(pools)])
        for i in range(len(given))
    ]
    return [mine for mine in dealt if len(mine)]


def draw_log_normal_sizes(mean: int, clients: int, variance: float, rng: Rng) -> Float64s:
    """Sizes whose logarithms have this variance, scaled to have that mean; all equal for 0."""
    if variance == 0:
        return np.full(clients, float(mean))
    logarithms = np.sqrt(variance) * rng.standard_normal(clients)
    weights = np.exp(logarithms - logarithms.max())
    return np.floor(weights / weights.sum() * mean * clients)


def draw_label_shares(clients: int, classes: int, imbalance: float, rng: Rng) -> Float64s:
    """Label proportions of clients: every class is spread over clients, then each client's are scaled to one.

    Whoever gets nothing of any class is given one at random.
    """
    if imbalance == 0:
        return np.full((clients, classes), 1 / classes)
    spread = proportions(1 / imbalance, classes, clients, rng).T
    totals = spread.sum(axis=1)
    without = np.flatnonzero(totals < np.finfo(np.float64).tiny)
    spread[without] = np.eye(classes)[rng.integers(classes, size=len(without))]
    return spread / spread.sum(axis=1, keepdims=True)


def _first_come(wanted: Int64s, room: Int64s) -> Int64s:
    """Clients in order take what they want, as long as a class has it."""
    taken = np.minimum(np.cumsum(wanted, axis=0), room)
    return np.diff(taken, axis=0, prepend=0)


def _while_enough(wanted: Int64s, room: Int64s) -> Int64s:
    """What clients in order want, up to the last who all get it."""
    short = np.flatnonzero((np.cumsum(wanted, axis=0) > room).any(axis=1))
    served = int(short[0]) if len(short) else len(wanted)
    if not wanted[:served].sum():
        raise ConfigError(
            "a strict partition gives no client all the rows it wants; choose more clients or less imbalance."
        )
    return wanted[:served]


def _deal_the_rest(wanted: Int64s, given: Int64s, room: Int64s, rng: Rng) -> Int64s:
    """Row by row, to a client with a probability that grows with what it misses."""
    given = given.copy()
    missing_in_all = (wanted - given).sum(axis=1).astype(np.float64)
    for k, rest in enumerate((room - given.sum(axis=0)).tolist()):
        missing = (wanted[:, k] - given[:, k]).astype(np.float64)
        draws = rng.random(rest)
        for u in draws:
            odds = np.cumsum(1 + np.maximum(missing, 0) + _OWN_SHARE * np.maximum(missing_in_all, 0))
            who = min(int(np.searchsorted(odds, u * odds[-1], side="right")), len(odds) - 1)
            given[who, k] += 1
            missing[who] -= 1
            missing_in_all[who] -= 1
    return given
