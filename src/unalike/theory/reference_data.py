"""How does the weight of training rows govern WERM's generalization? (Kaplan, Xu, Marfoq, Neglia and Santana
de Oliveira, "A Cautionary Tale: On the Role of Reference Data in Empirical Privacy Defenses", 2024.)

WERM minimizes w times the mean loss of n_T training rows plus 1 - w times that of n_R reference rows. A row
of the first set weighs w / n_T, one of the second (1 - w) / n_R, so that the sum of squared weights is

    1 / N_eff  =  w^2 / n_T  +  (1 - w)^2 / n_R,

and it deviates from its expectation as a mean of N_eff rows does. With losses in [0, 1] and both sets drawn
alike, with probability 1 - delta for all of |H| hypotheses at once (Hoeffding's inequality),

    |weighted mean - expected loss|  <=  sqrt( ln(2 |H| / delta) / (2 N_eff) ).

N_eff is largest, n_T + n_R, where w = n_T / (n_T + n_R); w = 1 has n_T. The weight so decides at once how far
a model generalizes and whose rows it needs.
"""

from __future__ import annotations

import math

from ..errors import ConfigError


def effective_rows(weight: float, training: int, reference: int) -> float:
    """N_eff, the number of rows of a plain mean that deviates as much as WERM's weighted one.

    Args:
        weight: of the training set, from 0 to 1.
        training: n_T; a set without rows can have no weight.
        reference: n_R.

    >>> effective_rows(0.5, 100, 100), effective_rows(1.0, 100, 300), effective_rows(0.25, 100, 300)
    (200.0, 100.0, 400.0)
    """
    if not 0 <= weight <= 1:
        raise ConfigError(f"weight must be in [0, 1], got {weight:g}.")
    sets = [(share, rows) for share, rows in ((weight, training), (1 - weight, reference)) if share > 0]
    if any(rows < 1 for _, rows in sets):
        raise ConfigError(f"a set that weighs needs rows, but there are {training} and {reference}.")
    return 1 / sum(share**2 / rows for share, rows in sets)


def generalization_bound(
    weight: float, training: int, reference: int, delta: float = 0.05, hypotheses: float = 1.0
) -> float:
    """How far WERM's empirical risk is from the expected loss, at most, with probability 1 - delta, for
    losses in [0, 1].

    Args:
        weight: of the training set.
        training: its rows.
        reference: rows of the reference set, drawn alike.
        delta: how often the bound may fail.
        hypotheses: the number of models among which one is chosen; 1 for a model that saw no row.

    >>> round(generalization_bound(0.5, 1000, 1000), 4)
    0.0304
    """
    if not 0 < delta < 1:
        raise ConfigError(f"delta must be in (0, 1), got {delta:g}.")
    if hypotheses < 1:
        raise ConfigError(f"there must be at least 1 hypothesis, got {hypotheses:g}.")
    rows = effective_rows(weight, training, reference)
    return math.sqrt(math.log(2 * hypotheses / delta) / (2 * rows))


def best_weight(training: int, reference: int) -> float:
    """The weight with the smallest bound, n_T / (n_T + n_R): that of training on all rows alike."""
    if training < 0 or reference < 0 or training + reference < 1:
        raise ConfigError(f"there must be rows in one of the sets, but there are {training} and {reference}.")
    return training / (training + reference)
