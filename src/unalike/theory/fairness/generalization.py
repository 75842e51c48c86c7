"""How far is GIFAIR's objective on rows from that on their distributions? (Theorem 37 of appendix A of Yue,
"Federated Data Analytics: Theory and Application", 2023, as printed and corrected.)

For losses in [0, M], with probability 1 - delta for all hypotheses at once, the expected objective is at most
the empirical one plus

printed      sqrt( 1/2 log(1/delta) sum_k (p_k M / N_k + lam d(d-1)/2 M)^2 )  +  2 R  +  lam d(d-1)/2 M
corrected    sqrt( M^2/2 log(1/delta) sum_k q_k^2 / N_k )  +  2 R  +  2 lam (d-1) sum_i R_i,
             q_k = p_k + lam (d-1) / |A|

McDiarmid's inequality sums over rows, of which one of client k moves the objective by at most q_k M / N_k:
its own term by p_k M / N_k, and its group's mean by M / (N_k |A|), which is in d - 1 differences. R is the
Rademacher complexity weighted by p, R_i that of the mean loss of group i; the printed constant in place of
the latter does not vanish with more rows. Without penalty the corrected form is the bound of agnostic
federated learning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...algorithms.shared.fair_weights import ClientGroups
from ...errors import ConfigError
from ...typing import Float64s


def deviation(
    groups: ClientGroups,
    sizes: Sequence[int],
    lam: float,
    delta: float = 0.05,
    largest_loss: float = 1.0,
    printed: bool = False,
) -> float:
    """The square root of the bound: what chance adds.

    Args:
        groups: who is in which group, and importances p.
        sizes: rows of every client, N.
        lam: the penalty.
        delta: how often the bound may fail.
        largest_loss: M.
        printed: as printed instead.
    """
    rows, shares = _rows(groups, sizes, delta), np.asarray(groups.importance)
    if printed:
        moves = shares / rows + lam * groups.count * (groups.count - 1) / 2
        squares = float((moves**2).sum())
    else:
        members = np.maximum(groups.sizes[np.asarray(groups.group, np.int64)], 1)
        moves = np.where(shares > 0, shares + lam * (groups.count - 1) / members, 0.0)
        squares = float((moves**2 / rows).sum())
    return largest_loss * math.sqrt(0.5 * math.log(1 / delta) * squares)


def generalization_bound(
    groups: ClientGroups,
    sizes: Sequence[int],
    lam: float,
    complexity: float = 0.0,
    group_complexities: Sequence[float] | None = None,
    delta: float = 0.05,
    largest_loss: float = 1.0,
    printed: bool = False,
) -> float:
    """All terms together; for one hypothesis that saw no row, complexities are 0.

    Args:
        groups: who is in which group, and importances p.
        sizes: rows of every client, N.
        lam: the penalty.
        complexity: R.
        group_complexities: R_i of every group; all 0 when not given.
        delta: how often the bound may fail.
        largest_loss: M.
        printed: as printed instead.
    """
    if printed:
        constant = lam * groups.count * (groups.count - 1) / 2 * largest_loss
        chance = deviation(groups, sizes, lam, delta, largest_loss, printed=True)
        return chance + 2 * complexity + constant
    spread = 2 * lam * (groups.count - 1) * float(np.sum(group_complexities or 0.0))
    return deviation(groups, sizes, lam, delta, largest_loss) + 2 * complexity + spread


def _rows(groups: ClientGroups, sizes: Sequence[int], delta: float) -> Float64s:
    rows = np.asarray(sizes, np.float64)
    if len(rows) != len(groups.group) or not (rows >= 1).all():
        raise ConfigError(f"sizes must be at least 1 for each of {len(groups.group)} clients, got {sizes}.")
    if not 0 < delta < 1:
        raise ConfigError(f"delta must be in (0, 1), got {delta:g}.")
    return rows
