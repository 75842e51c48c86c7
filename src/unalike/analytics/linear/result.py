"""Result of a linear model: estimates, standard errors, intervals and tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.stats

from ...typing import Float64s
from ..forecast import check_level
from ..summary import Cell, SummaryTable


@dataclass(frozen=True)
class Coefficients:
    """Estimates with their covariance, judged by Student's t, or by the normal law."""

    terms: tuple[str, ...]
    params: Float64s
    covariance: Float64s
    freedom: float = np.inf
    separated: tuple[str, ...] = ()
    """Terms whose estimate does not exist."""

    @property
    def bse(self) -> Float64s:
        """Standard errors."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def tvalues(self) -> Float64s:
        """Estimates in standard errors."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.params / self.bse

    @property
    def pvalues(self) -> Float64s:
        """Two-sided, of a coefficient being zero."""
        return 2 * scipy.stats.t.sf(np.abs(self.tvalues), self.freedom)

    def conf_int(self, level: float = 0.95) -> Float64s:
        """Lower and upper ends of confidence intervals, one row per coefficient."""
        check_level(level)
        reach = scipy.stats.t.ppf(0.5 + level / 2, self.freedom) * self.bse
        return np.column_stack([self.params - reach, self.params + reach])

    def table(self, level: float = 0.95) -> SummaryTable:
        """Estimate, standard error, interval and test of every coefficient."""
        low, high = self.conf_int(level).T
        rows = [
            _row(cells[0] in self.separated, *cells)
            for cells in zip(self.terms, self.params, self.bse, low, high, self.pvalues, strict=True)
        ]
        percent = f"{100 * level:g} %"
        header = ("term", "estimate", "std. error", f"{percent} from", "to", "p")
        return SummaryTable("Coefficients", header, tuple(rows))


def _row(separated: bool, term: str, *numbers: float) -> tuple[Cell, ...]:
    if np.isnan(numbers[0]):
        return (term, "does not exist" if separated else "aliased", *(None,) * (len(numbers) - 1))
    return (term, *(float(number) for number in numbers))
