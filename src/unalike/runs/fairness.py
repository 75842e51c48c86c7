"""Fairness measures: spread over clients, differences between groups, who pays and who gains.

    spread         standard deviation of a metric over clients, every client counting the same
    worst group    the worst mean over the clients of a group
    discrepancy    best group's mean less worst group's mean
    loss spread    sum_{i<j} |L_i - L_j| of the groups' mean training losses

A model is fairer than another if its spread (or, between groups, its discrepancy) is smaller (Li, Sanjabi,
Beirami, Smith, Fair Resource Allocation in Federated Learning, 2020; Yue, Nouiehed, Al Kontar, GIFAIR-FL,
2022). Clients that were not measured (NaN) are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from ..typing import Float64s


def group_means(values: ArrayLike, groups: Sequence[str]) -> dict[str, float]:
    """The mean of each group's clients; NaN for a group of which nobody was measured.

    >>> group_means([0.5, 0.7, 0.9], ["north", "north", "south"])
    {'north': 0.6, 'south': 0.9}
    """
    sample, members = np.asarray(values, float), np.array(list(groups), dtype=str)
    return {str(name): _mean(sample[members == name]) for name in np.unique(members)}


def group_measures(values: ArrayLike, groups: Sequence[str], higher: bool = True) -> dict[str, float]:
    """The worst group's mean, and how far it is behind the best.

    >>> found = group_measures([0.5, 0.75], ["north", "south"])
    >>> found["worst_group"], found["discrepancy"]
    (0.5, 0.25)
    """
    means = np.array([mean for mean in group_means(values, groups).values() if not np.isnan(mean)])
    if not means.size:
        return {"worst_group": np.nan, "discrepancy": np.nan}
    return {
        "worst_group": float(means.min() if higher else means.max()),
        "discrepancy": float(np.ptp(means)),
    }


def loss_spread(losses: ArrayLike, groups: Sequence[str]) -> float:
    """The sum of all differences between groups' mean losses.

    >>> loss_spread([1.0, 2.0, 4.0], ["a", "b", "c"])
    6.0
    """
    means = [mean for mean in group_means(losses, groups).values() if not np.isnan(mean)]
    return float(sum(abs(a - b) for a, b in combinations(means, 2)))


def gains(own: ArrayLike, reference: ArrayLike, higher: bool = True) -> Float64s:
    """By how much each client is better off than with a reference; negative for who pays.

    >>> gains([0.8, 0.5], [0.6, 0.6]).round(2).tolist()
    [0.2, -0.1]
    """
    difference = np.asarray(own, float) - np.asarray(reference, float)
    return difference if higher else -difference


def frontier(means: ArrayLike, spreads: ArrayLike, higher: bool = True) -> list[int]:
    """Which points no other beats in both mean and spread, by growing spread.

    >>> frontier([0.9, 0.8, 0.7], [0.2, 0.1, 0.15])
    [1, 0]
    """
    mean = np.asarray(means, float) * (1 if higher else -1)
    spread = np.asarray(spreads, float)
    answer: list[int] = []
    for i in np.lexsort((-mean, spread)).tolist():
        if np.isfinite(mean[i]) and np.isfinite(spread[i]) and (not answer or mean[i] > mean[answer[-1]]):
            answer.append(i)
    return answer


def fairest_within(
    means: ArrayLike, spreads: ArrayLike, points: float, higher: bool = True, reference: float | None = None
) -> int:
    """The least spread among those whose mean is at most `points` per cent worse than a reference (their own
    best mean, when not given): of one, where larger is better (accuracies), and of the reference itself
    otherwise (errors). Where none is that good, it is the one of the best mean.

    >>> fairest_within([0.90, 0.895, 0.7], [0.2, 0.1, 0.01], points=1.0)
    1
    >>> fairest_within([0.90, 0.895, 0.7], [0.2, 0.1, 0.01], points=1.0, reference=0.705)
    2
    """
    mean, spread = np.asarray(means, float), np.asarray(spreads, float)
    known = np.isfinite(mean) & np.isfinite(spread)
    if not known.any():
        return 0
    best = float(mean[known].max() if higher else mean[known].min())
    wanted = best if reference is None or not np.isfinite(reference) else reference
    slack = points / 100 * (1.0 if higher else abs(wanted)) + 1e-12
    near = known & (mean >= wanted - slack if higher else mean <= wanted + slack)
    near = near if near.any() else known & (mean == best)
    return int(np.argmin(np.where(near, spread, np.inf)))


def _mean(sample: Float64s) -> float:
    measured = sample[~np.isnan(sample)]
    return float(measured.mean()) if measured.size else float("nan")
