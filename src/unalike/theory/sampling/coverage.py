"""Class coverage (representativity) of a round's cohort.

A round misses a group G of clients (all holders of a class, or everyone) with a probability that each scheme
knows exactly: (1 - sum_{i in G} p_i)^m for m multinomial draws, C(n - |G|, m) / C(n, m) for m of n clients
without replacement, prod_{i in G} (1 - q_i) for coins, prod_k (1 - sum_{i in G} r_ki) for one draw from each
distribution r_k. Summed over classes, one minus it is the expected number of classes in a round.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...participation.samplers.base import Sampler
from ...participation.samplers.binomial import Binomial
from ...participation.samplers.clustered import Clustered
from ...participation.samplers.multinomial import Multinomial
from ...participation.samplers.optimal import Optimal
from ...participation.samplers.poisson import Poisson
from ...participation.samplers.uniform import (
    Full,
    OriginalFedAvg,
    Renormalized,
    Uniform,
    UniformWithReplacement,
)
from ...typing import Bools, Float64s, Int64s

Groups = Bools


def classes_seen(sampler: Sampler, importance: Float64s, classes: ArrayLike) -> float:
    """The expected number of distinct classes among the clients of a round.

    `classes` is one class number per client, or a (clients, classes) table of how many rows each has.

    >>> from unalike.participation import Multinomial
    >>> digits = np.repeat(np.arange(10), 10)
    >>> round(classes_seen(Multinomial(per_round=10), np.full(100, 0.01), digits), 4)
    6.5132
    """
    return float((1 - chance_missed(sampler, importance, holders(classes))).sum())


def chance_empty(sampler: Sampler, importance: Float64s) -> float:
    """The probability that no client takes part in a round.

    >>> from unalike.participation import Binomial
    >>> chance_empty(Binomial(per_round=1), np.full(2, 0.5))
    0.25
    """
    if isinstance(sampler, Clustered):
        return 0.0  # each of its distributions names someone
    return float(chance_missed(sampler, importance, np.ones((len(importance), 1), bool))[0])


def chance_distinct(importance: Float64s, draws: int) -> float:
    """The probability that independent draws in proportion to importance name no client twice.

    It is m! times the m-th elementary symmetric polynomial of the importances.

    >>> round(chance_distinct(np.full(100, 0.01), 10), 5)
    0.62816
    """
    chances = np.zeros(draws + 1)
    chances[0] = 1.0
    # chances[k]: k draws that only name clients seen so far, all distinct, in any of their k! orders.
    for share in importance:
        chances[1:] += np.arange(1, draws + 1) * share * chances[:-1]
    return float(chances[-1])


def holders(classes: ArrayLike) -> Groups:
    """Which client (row) belongs to which class (column)."""
    table = np.asarray(classes)
    return table[:, None] == np.unique(table)[None, :] if table.ndim == 1 else table > 0


def chance_missed(sampler: Sampler, importance: Float64s, groups: Groups) -> Float64s:
    """For every group (a column of `groups`) the probability that none of its clients has any weight."""
    members = groups & (importance > 0)[:, None]
    counts = members.sum(axis=0)
    n = len(importance)
    match sampler:
        case Full():
            return (counts == 0).astype(float)
        case Multinomial(per_round=m):
            return np.maximum(1 - importance @ members, 0) ** m
        case Uniform(per_round=m) | OriginalFedAvg(per_round=m) | Renormalized(per_round=m):
            return _none_of(counts, n, min(m, n))
        case UniformWithReplacement(per_round=m):
            return (1 - counts / n) ** m
        case Binomial() | Poisson() | Optimal():
            return _no_heads(sampler.statistics(importance).inclusion, members)
        case Clustered():
            line = sampler.line(importance)
            return np.maximum(1 - line.table() @ members / line.length, 0).prod(axis=0)
    raise ConfigError(f"which clients {type(sampler).__name__} misses has no closed form.")


def _none_of(counts: Int64s, clients: int, drawn: int) -> Float64s:
    """C(n - k, m) / C(n, m), for each k, one draw after the other."""
    before = np.arange(drawn)
    others = np.maximum(clients - counts[:, None] - before, 0)
    return (others / (clients - before)).prod(axis=1)


def _no_heads(chances: Float64s, members: Groups) -> Float64s:
    with np.errstate(divide="ignore"):
        logarithms = np.log1p(-chances)
    return np.exp(np.where(members, logarithms[:, None], 0.0).sum(axis=0))
