"""Logistic regression: the coefficients of the pooled rows, by Newton's method.

Clients send sums over their rows: nothing is approximated, and the answer does not depend on how rows are
dealt to clients. A ridge penalty `ridge/2 |b|^2` leaves the intercept alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.special

from ...errors import DataError
from ...typing import Float64s
from ..estimator import analysis_registry
from ..forecast import select_predicted_rows
from ..summary import Cell
from .base import Regression
from .objectives import LogLoss, ResponseSums


@analysis_registry.add("logistic")
@dataclass(kw_only=True)
class LogisticRegression(Regression):
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
