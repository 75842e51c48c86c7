"""What do linear and logistic regression share?  (Fitting by Newton's method, linear predictor, summary.)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from ...typing import Float64s
from ..fitting import linear_task
from ..inputs import as_given
from ..model_matrix import MissingValues
from ..run_facts import run_facts
from ..summary import Cell, Summary
from .newton_estimator import NewtonEstimator
from .objectives import ResponseSums


@dataclass(kw_only=True)
class Regression(NewtonEstimator):
    """What linear and logistic regression share."""

    objective: ClassVar[type[ResponseSums]]
    title: ClassVar[str]

    def fit(
        self, data: Any, formula: str | None = None, missing: MissingValues = "drop", **training: Any
    ) -> Self:
        """Fit to a federation, a design, or tables with a formula.

        `training` is what :func:`unalike.train` takes: `engine`, `out`, `resume`, `observer`.
        """
        self.check_settings()
        self.check_formula(formula)
        self.given = as_given(data, formula, missing)
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
