"""Least squares, ridge and logistic regression: the coefficients of the pooled rows.

Clients send sums over their rows: nothing is approximated, and the answer does not depend on how rows are
dealt to clients. A ridge penalty `ridge/2 |b|^2` leaves the intercept alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.special

from ...errors import DataError
from ...typing import Float64s
from ..design import INTERCEPT
from ..estimator import analysis_registry
from ..fitting import linear_task
from ..forecast import Forecast, select_predicted_rows
from ..inputs import as_given
from ..model_matrix import Gaps
from ..run_facts import run_facts
from ..summary import Cell, Summary
from .newton_estimator import NewtonEstimator
from .objectives import LeastSquares, LogLoss, ResponseSums
from .result import Coefficients

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(kw_only=True)
class _Regression(NewtonEstimator):
    """What linear and logistic regression share."""

    objective: ClassVar[type[ResponseSums]]
    title: ClassVar[str]

    def fit(self, data: Any, formula: str | None = None, gaps: Gaps = "drop", **training: Any) -> Self:
        """Fit to a federation, a design, or tables with a formula.

        `training` is what :func:`unalike.train` takes: `engine`, `out`, `resume`, `observer`.
        """
        self.check_settings()
        self.check_formula(formula)
        self.given = as_given(data, formula, gaps)
        self.minimize(self.objective(len(self.terms)), linear_task(self.given.design), **training)
        self._check_fit()
        return self

    def linear_predictor(self, new: Any) -> Float64s:
        """x'b of new rows, given as an array of the design's columns or as a table."""
        return self.given.rows(new) @ self.identified_.reached

    def summary(self, level: float = 0.95) -> Summary:
        """As statistics programs print it."""
        facts = (*run_facts(self.given.design, self.run), *self._facts())
        return Summary(self.title, facts, (self.coefficients.table(level),), tuple(self.notes()))

    def _facts(self) -> tuple[tuple[str, Cell], ...]:
        """What is said of the fit beside its coefficients."""
        return (("ridge", self.ridge),) if self.ridge else ()

    def _check_fit(self) -> None:
        """Raise where the numbers say nothing."""


@analysis_registry.add("linear")
@dataclass(kw_only=True)
class LinearRegression(_Regression):
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


@analysis_registry.add("logistic")
@dataclass(kw_only=True)
class LogisticRegression(_Regression):
    """Logistic regression of a yes (1) or no (0) over all clients' rows, by Newton's method."""

    objective: ClassVar[type[ResponseSums]] = LogLoss
    title: ClassVar[str] = "Logistic regression"
    judged_by: ClassVar[str] = "accuracy"
    refuses: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("return_std", "interval"), "a prediction is a label; predict_proba has the probabilities"
    )

    @property
    def llf(self) -> float:
        """The log-likelihood."""
        return -self.value

    @property
    def llnull(self) -> float:
        """The log-likelihood of the share of yes alone."""
        yes = float(self.run.state["others"]["y"])
        share = yes / self.nobs
        return float(scipy.special.xlogy(yes, share) + scipy.special.xlogy(self.nobs - yes, 1 - share))

    @property
    def classes(self) -> tuple[Any, ...]:
        """What no and yes are called: the two words of the response, or 0 and 1."""
        return self.fitted_to.response_words or (0.0, 1.0)

    def predict(
        self,
        new: Any,
        client: str | int | None = None,
        return_std: bool = False,
        interval: float | None = None,
    ) -> Any:
        """The label of every new row, one of `classes` (:meth:`predict_proba` has their probabilities).

        A row that cannot be predicted has NaN, or an empty word where labels are words.
        """
        self.check_predicts(return_std, interval)
        no, yes = self.classes
        probable = self.predict_proba(new, client)[:, 1]
        missing = "" if isinstance(yes, str) else np.nan
        return np.where(np.isnan(probable), missing, np.where(probable > 0.5, yes, no))

    def predict_proba(self, new: Any, client: str | int | None = None) -> Float64s:
        """The probability of every class, in the order of `classes`, for every new row; NaN where a value is
        missing or a category is unknown.

        Args:
            new: New rows, as for :meth:`predict`.
            client: Whose rows they are; it makes no difference.
        """
        self.client_number(client)
        yes = scipy.special.expit(self.linear_predictor(new))
        return np.column_stack([1 - yes, yes])

    def score(self, new: Any, y: Any, client: str | int | None = None) -> float:
        """The accuracy: the share of rows whose label is predicted, over the rows that can be predicted."""
        predicted, labels = select_predicted_rows(self.predict(new, client), y)
        no, yes = self.classes
        if isinstance(yes, str) and labels.dtype.kind not in "UO":
            labels = np.where(labels > 0.5, yes, no)
        return float(np.mean(predicted == labels))

    def _facts(self) -> tuple[tuple[str, Cell], ...]:
        more: tuple[tuple[str, Cell], ...] = (
            ("event (the 1 of yes or no)", self.given.event),
            ("log-likelihood", self.llf),
            ("pseudo R squared", 1 - self.llf / self.llnull),
        )
        return (*more, *super()._facts())

    def _check_fit(self) -> None:
        yes = float(self.run.state["others"]["y"])
        if not 0 < yes < self.nobs:
            raise DataError(f"the response {self.given.design.response!r} is the same in all rows.")
        if not self.ridge and self.llf > -1e-6 * self.nobs:
            raise DataError(
                "the columns tell yes from no in every row, so that coefficients grow without end; use a "
                "ridge penalty, such as ridge=1."
            )
