"""Linear regression (least squares) and ridge regression: the coefficients of the pooled rows.

Clients send sums over their rows: nothing is approximated, and the answer does not depend on how rows are
dealt to clients. A ridge penalty `ridge/2 |b|^2` leaves the intercept alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...errors import DataError
from ..design import INTERCEPT
from ..estimator import analysis_registry
from ..forecast import Forecast
from ..summary import Cell
from .base import Regression
from .objectives import LeastSquares, ResponseSums
from .result import Coefficients

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@analysis_registry.add("linear")
@dataclass(kw_only=True)
class LinearRegression(Regression):
    """Least squares, or ridge regression, over all clients' rows.

    >>> from unalike.data.tables import tables_of
    >>> tables = {"a": {"x": [0, 1, 2], "y": [1, 3, 5.5]}, "b": {"x": [3, 4], "y": [7, 9]}}
    >>> fitted = LinearRegression().fit(tables, "y ~ x")
    >>> fitted.params.round(3)
    array([1.1, 2. ])
    """

    objective: ClassVar[type[ResponseSums]] = LeastSquares
    title: ClassVar[str] = "Least squares"

    @property
    def df_resid(self) -> int:
        """Rows beyond the number of coefficients."""
        return self.nobs - len(self.identified_.kept)

    @property
    def ssr(self) -> float:
        """The sum of squared residuals."""
        return 2 * self.value

    @property
    def scale(self) -> float:
        """The variance of the noise."""
        return self.ssr / self.df_resid if self.df_resid > 0 else float("nan")

    @property
    def rsquared(self) -> float:
        """The part of the response's variance that is explained."""
        sums = {name: float(value) for name, value in self.run.state["others"].items()}
        mean = sums["y"] / self.nobs if INTERCEPT in self.terms else 0.0
        return 1 - self.ssr / (sums["yy"] - self.nobs * mean**2)

    @property
    def coefficients(self) -> Coefficients:
        freedom = max(self.df_resid, 1) if self.df_resid > 0 else np.nan
        return Coefficients(self.terms, self.params, self.scale * self._sampling_covariance, freedom)

    def forecast(self, new: Any, client: int | None) -> Forecast:
        x, covariance = self.given.rows(new), np.nan_to_num(self.cov_params())
        spread = np.sqrt(self.scale + np.einsum("ij,jk,ik->i", x, covariance, x))
        return Forecast(self.linear_predictor(new), spread, self.coefficients.freedom)

    def figures(self) -> dict[str, Figure]:
        design = self.fitted_to.design
        if not design.is_here:
            return super().figures()
        from ..figures.estimates import residual_plot

        mean = self.linear_predictor(design.federation.train.x)
        return {**super().figures(), "Residuals": residual_plot(mean, design.federation.train.y - mean)}

    def _facts(self) -> tuple[tuple[str, Cell], ...]:
        more: tuple[tuple[str, Cell], ...] = (
            ("R squared", self.rsquared),
            ("residual std. deviation", float(np.sqrt(self.scale))),
            ("degrees of freedom", self.df_resid),
        )
        return (*more, *super()._facts())

    def _check_fit(self) -> None:
        sums = {name: float(value) for name, value in self.run.state["others"].items()}
        mean = sums["y"] / self.nobs
        if min(self.ssr, sums["yy"] - self.nobs * mean**2) < -1e-9 * abs(sums["yy"]):
            raise DataError(
                "the sums that clients sent are not those of rows: sums of squares are negative. Where nodes "
                "add noise, it is larger than what the model leaves unexplained; ask for fewer answers with "
                "a larger epsilon, or fewer terms."
            )
        if sums["yy"] / self.nobs - mean**2 <= 1e-14 * max(mean**2, 1e-300):
            raise DataError(
                f"the response {self.given.design.response!r} is the same in all rows: there is nothing to "
                "explain."
            )
