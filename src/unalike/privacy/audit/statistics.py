"""Statistics of attacks: confidence intervals of rates, and power at few false alarms.

    TPR at FPR f   =   the largest share of members above a threshold that at most a share f of others exceed
    advantage      =   TPR - FPR   =   2 accuracy - 1   on a balanced set

Intervals of rates are those of Clopper and Pearson, "The use of confidence or fiducial limits illustrated in
the case of the binomial" (1934): they hold at any number of rows. Rates at few false alarms are judged as
Carlini and others propose in "Membership Inference Attacks From First Principles" (2022); where there are too
few non-members to see so small a rate, nothing is reported.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...typing import Float64s


class Rate(NamedTuple):
    """A share of rows with its interval."""

    value: float
    low: float
    high: float
    rows: int

    def as_dict(self) -> dict[str, float]:
        """For machines."""
        return {"value": self.value, "low": self.low, "high": self.high, "rows": self.rows}

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} % [{100 * self.low:.1f}, {100 * self.high:.1f}]"


def clopper_pearson(hits: int, count: int, level: float = 0.95) -> Rate:
    """A rate of `hits` in `count` with an interval that covers the truth at least so often.

    >>> rate = clopper_pearson(0, 10)
    >>> rate.low, round(rate.high, 4)
    (0.0, 0.3085)
    """
    if not 0 <= hits <= count:
        raise ConfigError(f"{hits} hits among {count} rows make no rate.")
    if not count:
        return Rate(np.nan, 0.0, 1.0, 0)
    tail = (1 - level) / 2
    low = float(scipy.stats.beta.ppf(tail, hits, count - hits + 1)) if hits else 0.0
    high = float(scipy.stats.beta.ppf(1 - tail, hits + 1, count - hits)) if hits < count else 1.0
    return Rate(hits / count, low, high, count)


def advantage(accuracy: Rate) -> Rate:
    """What an accuracy on a balanced set is above guessing, from 0 to 1.

    >>> round(advantage(Rate(0.75, 0.7, 0.8, 100)).value, 3)
    0.5
    """
    return Rate(2 * accuracy.value - 1, 2 * accuracy.low - 1, 2 * accuracy.high - 1, accuracy.rows)


def auc(scores: ArrayLike, member: ArrayLike) -> float:
    """The chance that a member scores above a non-member, ties counting half.

    >>> auc([3, 2, 1], [True, True, False]), auc([1, 1], [True, False])
    (1.0, 0.5)
    """
    values, inside = _scores(scores), np.asarray(member, bool)
    ranks, members = scipy.stats.rankdata(values), int(inside.sum())
    others = len(values) - members
    if not members or not others:
        return float("nan")
    return float((ranks[inside].sum() - members * (members + 1) / 2) / (members * others))


def roc(scores: ArrayLike, member: ArrayLike) -> tuple[Float64s, Float64s]:
    """False and true positive rates at every threshold, from (0, 0) to (1, 1).

    >>> false, true = roc([3, 2, 1], [True, False, True])
    >>> false.tolist(), true.tolist()
    ([0.0, 0.0, 1.0, 1.0], [0.0, 0.5, 0.5, 1.0])
    """
    values, inside = _scores(scores), np.asarray(member, bool)
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    ends = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(order) - 1)  # equal scores go together
    true = np.cumsum(inside[order])[ends] / max(int(inside.sum()), 1)
    false = np.cumsum(~inside[order])[ends] / max(int((~inside).sum()), 1)
    return np.append(0.0, false), np.append(0.0, true)


def tpr_at_fpr(scores: ArrayLike, member: ArrayLike, fpr: float, level: float = 0.95) -> Rate | None:
    """The true positive rate with at most a share `fpr` of false alarms; None with fewer than 1 / fpr
    non-members, who cannot tell so small a share from none.

    >>> tpr_at_fpr([3, 2, 1], [True, False, True], 0.001) is None
    True
    """
    values, inside = _scores(scores), np.asarray(member, bool)
    others = np.sort(values[~inside])[::-1]
    allowed = int(np.floor(fpr * len(others) + 1e-9))
    if not allowed:
        return None
    above = others[allowed] if allowed < len(others) else -np.inf
    return clopper_pearson(int((values[inside] > above).sum()), int(inside.sum()), level)


def _scores(scores: ArrayLike) -> Float64s:
    values = np.asarray(scores, np.float64)
    return np.where(np.isnan(values), -np.inf, values)  # a model that has diverged knows nobody
