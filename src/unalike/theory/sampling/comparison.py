"""Comparing two sampling schemes by their statistics.

Fraboni, Vidal, Kameni and Lorenzi ("A General Theory for Client Sampling in Federated Learning", 2022)
compare the sum of the weights' variances (Sigma), gamma, and the variance of the weights' sum; smaller is
better in each. A scheme whose mean weights are not in proportion to the importances p minimizes another
objective, so bias comes first. A step that is too short on average, but in the right direction, is a matter
of the server's learning rate: weights are compared as if their means summed to one. With
s = sum_i p_i^2, for m of n clients,

    Sigma_uniform <= Sigma_md  iff  s <= 1 / (n - m + 1),
    gamma_uniform <= gamma_md  iff  s <= (n - 1) / (n (n - m)).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...participation.base import check_per_round
from ...participation.samplers.statistics import WeightStatistics
from ...typing import Float64s

ALIKE = 1e-9
"""Numbers that differ by less than this part of them are taken as equal."""
SURE = 1e-12
"""A variance of the weights' sum below this is rounding."""


@dataclass(frozen=True)
class Criterion:
    """One number of each of two schemes; the smaller is better."""

    name: str
    first: float | None
    second: float | None
    better: str | None = None
    """The name of the better scheme; None where they are alike or cannot be told apart."""

    def words(self) -> str:
        """Both numbers, the smaller first.

        >>> Criterion("total variance", 0.09, 0.099, "uniform").words()
        'total variance (0.09 against 0.099)'
        """
        low, high = sorted(number for number in (self.first, self.second) if number is not None)
        digits = next(digits for digits in (4, 6, 9, 17) if f"{low:.{digits}g}" != f"{high:.{digits}g}")
        return f"{self.name} ({low:.{digits}g} against {high:.{digits}g})"


@dataclass(frozen=True)
class Comparison:
    """Two schemes, criterion by criterion, and a verdict."""

    names: tuple[str, str]
    total_variance: Criterion
    gamma: Criterion
    variance_of_sum: Criterion
    bias: Criterion
    """How much of the weight is at the wrong clients, between 0 and 1."""
    winner: str
    """The better scheme's name, `equal`, or `mixed`."""
    reason: str

    def __iter__(self) -> Iterator[Criterion]:
        return iter((self.total_variance, self.gamma, self.variance_of_sum, self.bias))


def compare_schemes(
    first: WeightStatistics, second: WeightStatistics, names: tuple[str, str] = ("first", "second")
) -> Comparison:
    """The better of two schemes for the same importances, by criterion and in all, and why.

    >>> from unalike.participation import Multinomial, Uniform
    >>> equal = np.full(100, 0.01)
    >>> schemes = Uniform(per_round=10).statistics(equal), Multinomial(per_round=10).statistics(equal)
    >>> print(compare_schemes(*schemes, ("uniform", "md")).reason)
    uniform has the smaller total variance (0.09 against 0.099), and both sums of weights are certain.
    """
    lengths = step_length(first), step_length(second)
    criteria = (
        _criterion("total variance", names, *_scale("total_variance", first, second, lengths)),
        _gamma(first, second, names),
        _criterion("variance of the sum", names, *_scale("variance_of_sum", first, second, lengths)),
        _criterion("bias", names, misplaced_weight(first), misplaced_weight(second)),
    )
    winner, reason = _verdict(*criteria)
    return Comparison(names, *criteria, winner, f"{reason}{_repair(names, lengths)}.")


def step_length(statistics: WeightStatistics) -> float:
    """The mean of the weights' sum: the part of a full step that a round makes on average."""
    return float(statistics.mean.sum())


def misplaced_weight(statistics: WeightStatistics) -> float:
    """The part of the weight that is at the wrong clients on average, whatever the length of the step.

    >>> from unalike.participation import OriginalFedAvg
    >>> misplaced_weight(OriginalFedAvg(per_round=1).statistics(np.array([0.5, 0.3, 0.2])))
    0.0
    """
    length = step_length(statistics)
    if length <= 0:
        return 1.0
    distance = 0.5 * float(np.abs(statistics.mean / length - statistics.importance).sum())
    return distance if distance > ALIKE else 0.0


class Thresholds(NamedTuple):
    """The largest sum_i p_i^2 at which uniform draws still have the smaller number."""

    total_variance: float
    gamma: float


def uniform_thresholds(clients: int, per_round: int) -> Thresholds:
    """Up to which sum of squared importances uniform draws beat multinomial ones, by Sigma and by gamma.

    >>> [round(threshold, 6) for threshold in uniform_thresholds(100, 10)]
    [0.010989, 0.011]
    """
    check_per_round(per_round, clients)
    left = clients - per_round
    return Thresholds(1 / (left + 1), (clients - 1) / (clients * left) if left else math.inf)


def uniform_beats_multinomial(importance: Float64s, per_round: int) -> bool:
    """Whether uniform draws have both the smaller Sigma and the smaller gamma.

    >>> uniform_beats_multinomial(np.full(10, 0.1), 5)
    True
    """
    squares = float(importance @ importance)
    return squares <= min(uniform_thresholds(len(importance), per_round)) * (1 + ALIKE)


def _scale(
    name: str, first: WeightStatistics, second: WeightStatistics, lengths: tuple[float, float]
) -> tuple[float, float]:
    one, two = (
        getattr(scheme, name) / length**2 if length > 0 else math.inf
        for scheme, length in zip((first, second), lengths, strict=True)
    )
    return (one, two) if max(one, two) > SURE else (0.0, 0.0)


def _criterion(name: str, names: tuple[str, str], first: float | None, second: float | None) -> Criterion:
    if first is None or second is None or math.isclose(first, second, rel_tol=ALIKE, abs_tol=SURE):
        return Criterion(name, first, second)
    return Criterion(name, first, second, names[0] if first < second else names[1])


def _gamma(first: WeightStatistics, second: WeightStatistics, names: tuple[str, str]) -> Criterion:
    answer = _criterion("gamma", names, first.gamma, second.gamma)
    worse = first if answer.better == names[1] else second
    # Where the larger number is only a bound, the scheme behind it may still be the better one.
    return answer if worse.alpha is not None else replace(answer, better=None)


def _verdict(variance: Criterion, gamma: Criterion, total: Criterion, bias: Criterion) -> tuple[str, str]:
    if bias.better and 0.0 in (bias.first, bias.second):
        share = max(bias.first or 0.0, bias.second or 0.0)
        return (
            bias.better,
            f"only {bias.better} is unbiased; {100 * share:.2g} % of the other's weight is misplaced",
        )
    if bias.first == bias.second == total.first == total.second == 0.0:
        sure = "and both sums of weights are certain"
        if variance.better is None:
            return "equal", f"both have the same {variance.name}, {sure}"
        return variance.better, f"{variance.better} has the smaller {variance.words()}, {sure}"
    return _if_unanimous([one for one in (variance, gamma, total, bias) if one.better])


def _if_unanimous(telling: list[Criterion]) -> tuple[str, str]:
    """A scheme wins only if no criterion speaks against it."""
    claims: dict[str, list[str]] = {}
    for criterion in telling:
        claims.setdefault(str(criterion.better), []).append(criterion.words())
    parts = [f"{name} has the smaller {' and '.join(numbers)}" for name, numbers in claims.items()]
    if not parts:
        return "equal", "no criterion tells them apart"
    return (next(iter(claims)) if len(claims) == 1 else "mixed"), ", but ".join(parts)


def _repair(names: tuple[str, str], lengths: tuple[float, float]) -> str:
    short = [
        f"; steps of {name} have {length:.3g} of the full length, which a server learning rate of "
        f"{1 / length:.3g} repairs"
        for name, length in zip(names, lengths, strict=True)
        if length > 0 and abs(length - 1) > 1e-6
    ]
    return "".join(short)
