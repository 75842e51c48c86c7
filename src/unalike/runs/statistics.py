"""Confidence intervals, and fairness statistics over clients.

Seeds are averaged with Student's interval and compared in pairs, for two methods that share a seed share
their luck. A NaN among seeds is a run that failed, and makes the answer NaN: failures must not vanish from
an average. A NaN among clients is a client that was not measured, and is left out.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..errors import RunError
from ..models.metrics import higher_is_better
from ..typing import Document, Float64s

__all__ = [
    "bottom_decile",
    "higher_is_better",
    "mean_interval",
    "paired_test",
    "summarize_clients",
]

_MOST_FLIPS = 12  # 2**12 sign patterns are enumerated; beyond that Wilcoxon's ranks take over


def mean_interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """The mean and the half width of its confidence interval, which one value alone does not have.

    >>> mean, half_width = mean_interval([1.0, 2.0, 3.0])
    >>> round(mean, 3), round(half_width, 3)
    (2.0, 2.484)
    """
    sample = np.asarray(values, dtype=float)
    if sample.size == 0:
        return np.nan, np.nan
    if sample.size == 1:
        return float(sample[0]), np.nan
    spread = sample.std(ddof=1) / np.sqrt(sample.size)
    return float(sample.mean()), float(scipy.special.stdtrit(sample.size - 1, (1 + level) / 2) * spread)


def paired_test(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Document:
    """Is `a` different from `b`, seed by seed?

    `difference` is the mean of a - b, with `half_width`; `p_t` is the p-value of a paired t-test; `p_free`
    assumes no distribution and comes from the test named in `free_test`: all sign flips for up to 12 pairs,
    Wilcoxon's signed ranks for more. `p_t` is NaN where all differences are equal but not zero: a t-test
    divides by their spread.

    >>> answer = paired_test([3.0, 4.0, 6.0], [1.0, 3.0, 3.0])
    >>> answer["difference"], answer["p_free"]
    (2.0, 0.25)
    """
    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if first.shape != second.shape:
        raise RunError(
            f"a paired test needs as many values on both sides, not {first.size} and {second.size}."
        )
    gaps = first - second
    mean, half_width = mean_interval(gaps, level)
    name, p_free = _free_test(gaps)
    return {
        "n": gaps.size,
        "difference": mean,
        "half_width": half_width,
        "p_t": _t_test(gaps),
        "p_free": p_free,
        "free_test": name,
    }


def bottom_decile(values: ArrayLike, higher_is_better: bool = True) -> float:
    """What the worst tenth of clients gets at most: the value of the n/10-th worst client, rounded down (of
    the worst one, where there are fewer than ten).

    >>> bottom_decile(range(20)), bottom_decile([0.7, 0.9])
    (1.0, 0.7)
    """
    ordered = _worst_first(_drop_missing(values), higher_is_better)
    return float(ordered[max(1, ordered.size // 10) - 1]) if ordered.size else np.nan


def summarize_clients(
    values: ArrayLike, weights: ArrayLike | None = None, higher_is_better: bool = True
) -> dict[str, float]:
    """What clients get on average, and what the worst-off get; clients of weight zero were not measured.

    >>> summarize_clients([0.5, 1.0], [3, 1])["weighted_mean"]
    0.625
    """
    sample = np.asarray(values, dtype=float)
    share = np.ones_like(sample) if weights is None else np.asarray(weights, dtype=float)
    measured = ~np.isnan(sample) & (share > 0)
    sample, share = sample[measured], share[measured]
    if not sample.size:
        return dict.fromkeys(("mean", "weighted_mean", "bottom_decile", "worst", "std"), np.nan)
    with np.errstate(over="ignore", invalid="ignore"):  # of a client that has diverged
        return _summary(sample, share, higher_is_better)


def _summary(sample: Float64s, share: Float64s, higher_is_better: bool) -> dict[str, float]:
    return {
        "mean": float(sample.mean()),
        "weighted_mean": float(np.average(sample, weights=share)),
        "bottom_decile": bottom_decile(sample, higher_is_better),
        "worst": float(_worst_first(sample, higher_is_better)[0]),
        "std": float(sample.std()),
    }


def _drop_missing(values: ArrayLike) -> Float64s:
    sample = np.asarray(values, dtype=float)
    return sample[~np.isnan(sample)]


def _worst_first(sample: Float64s, higher_is_better: bool) -> Float64s:
    return np.sort(sample) if higher_is_better else np.sort(sample)[::-1]


def _t_test(gaps: Float64s) -> float:
    if gaps.size < 2 or np.isnan(gaps).any():
        return np.nan
    if not gaps.any():
        return 1.0
    error = gaps.std(ddof=1) / np.sqrt(gaps.size)
    if error <= 1e-12 * abs(gaps.mean()):  # equal differences say nothing of how much they vary
        return np.nan
    return float(2 * scipy.special.stdtr(gaps.size - 1, -abs(gaps.mean()) / error))


def _free_test(gaps: Float64s) -> tuple[str, float]:
    exact = gaps.size <= _MOST_FLIPS
    name = "sign flips" if exact else "Wilcoxon signed ranks"
    if gaps.size == 0 or np.isnan(gaps).any():
        return name, np.nan
    if not gaps.any():
        return name, 1.0
    return name, _sign_flips(gaps) if exact else _wilcoxon(gaps)


def _wilcoxon(gaps: Float64s) -> float:
    return float(scipy.stats.wilcoxon(gaps).pvalue)


def _sign_flips(gaps: Float64s) -> float:
    """The share of sign patterns whose sum is at least as far from zero as the one observed."""
    signs = np.array(list(product((-1.0, 1.0), repeat=gaps.size)))
    sums = np.abs(signs @ gaps)
    slack = 1e-12 * np.abs(gaps).sum()  # equal sums in another order of addition must count as equal
    return float(np.mean(sums >= abs(gaps.sum()) - slack))
