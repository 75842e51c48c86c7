"""What estimators by Newton's method share: coefficients, standard errors and tests from the last round.

The Hessian of minus the log-likelihood, summed over clients, is the information; its inverse is the
covariance of the coefficients. Of a ridge fit the covariance is that of its sampling, not of a prior:

    (I + P)^-1 I (I + P)^-1                        I: the information, P: the penalty
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import ConfigError
from ...models import Task
from ...training.run import Run
from ...typing import Float64s
from ..design import INTERCEPT
from ..estimator import Estimator
from ..fitting import fit_rounds
from ..inputs import EstimatorInput
from .identifiability import Identified, identify
from .newton import Newton, Objective
from .result import Coefficients

MOST_ROUNDS = 60


@dataclass(kw_only=True)
class NewtonEstimator(Estimator):
    """Coefficients that minimize a sum over clients, with a ridge penalty that leaves an intercept alone."""

    ridge: float = 0.0
    tolerance: float = 1e-12

    given: EstimatorInput = field(init=False, repr=False)
    run: Run = field(init=False, repr=False)

    def check_settings(self) -> None:
        """Raise where a setting is impossible."""
        if not self.ridge >= 0 or not np.isfinite(self.ridge):
            raise ConfigError(f"ridge must not be negative, but is {self.ridge}.")

    def minimize(self, objective: Objective, task: Task, **training: Any) -> None:
        """Let the clients that were given find the minimum."""
        penalty = tuple(self.penalty.tolist()) if self.ridge else ()
        method = Newton(objective=objective, ridge=penalty, tolerance=self.tolerance)
        self.__dict__.pop("identified_", None)
        self.run = fit_rounds(self.given.design, task, method, MOST_ROUNDS, **training)

    @cached_property
    def identified_(self) -> Identified:
        """The coefficients that the data determine, and the inverse of their information."""
        point, hessian, gram = (self._state(name) for name in ("params", "hessian", "first_hessian"))
        method = self.run.setting.algorithm
        if not (isinstance(method, Newton) and method.objective.separates) or self.ridge:
            return identify(point, hessian, gram)
        return identify(point, hessian, gram, self._state("gradient"), self.nobs)

    @property
    def separated(self) -> dict[str, str]:
        """Terms whose estimate does not exist, and where they would grow to for ever."""
        pushed = zip(self.terms, self.identified_.drift.tolist(), strict=True)
        return {term: "-infinity" if drift < 0 else "+infinity" for term, drift in pushed if drift}

    @property
    def terms(self) -> tuple[str, ...]:
        """What the coefficients belong to."""
        return self.given.design.terms

    @property
    def penalty(self) -> Float64s:
        """The diagonal of P."""
        return np.array([0.0 if term == INTERCEPT else self.ridge for term in self.terms])

    @property
    def value(self) -> float:
        """What was minimized, without the penalty."""
        at = self._state("evaluated")
        return float(self.run.state["value"]) - 0.5 * float(np.sum(self.penalty * at**2))

    @property
    def nobs(self) -> int:
        """All rows."""
        return round(float(self.run.state["rows"]))

    @property
    def params(self) -> Float64s:
        """The coefficients, in the order of the terms; NaN where a column is explained by ones before it, or
        where there is no estimate (`separated`)."""
        return self.identified_.params

    def cov_params(self) -> Float64s:
        """The covariance of the coefficients; NaN where there is no estimate."""
        return self.coefficients.covariance

    @property
    def _sampling_covariance(self) -> Float64s:
        """Of the coefficients, for an objective that is minus a log-likelihood."""
        inverse = self.identified_.inverse
        if not self.ridge:
            return inverse
        known, information = np.nan_to_num(inverse), self._state("hessian") - np.diag(self.penalty)
        return np.where(np.isnan(inverse), np.nan, known @ information @ known)

    @property
    def coefficients(self) -> Coefficients:
        """Estimates with their covariance."""
        return Coefficients(
            self.terms, self.params, self._sampling_covariance, separated=tuple(self.separated)
        )

    @property
    def bse(self) -> Float64s:
        """Standard errors."""
        return self.coefficients.bse

    @property
    def pvalues(self) -> Float64s:
        """Two-sided, of a coefficient being zero."""
        return self.coefficients.pvalues

    def conf_int(self, level: float = 0.95) -> Float64s:
        """Confidence intervals, one row per coefficient."""
        return self.coefficients.conf_int(level)

    def notes(self) -> list[str]:
        """What a summary should say beside its numbers."""
        said = []
        aliased = [self.terms[j] for j in self.identified_.aliased]
        if aliased:
            said.append(f"Explained by the columns before them: {', '.join(aliased)}.")
        if self.separated:
            where = ", ".join(f"{term} (towards {end})" for term, end in self.separated.items())
            said.append(
                f"The estimate does not exist: {where}. These columns predict some rows with certainty "
                "(separation), and the likelihood has no maximum; the other estimates are limits. Leave out "
                "or merge a category that is too rare, or use a ridge penalty, such as ridge=1."
            )
        return [*said, *self.given.remarks()]

    def _state(self, name: str) -> Float64s:
        return np.asarray(self.run.state[name], np.float64)
