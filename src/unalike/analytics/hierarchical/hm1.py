"""HM1: point estimates of related devices' coefficients that borrow strength.

X. Yue, "Federated Data Analytics: Theory and Application" (dissertation, University of Michigan, 2023),
section 3.3. For a fixed set of devices, to predict; devices may be positively or negatively related. The
prior of the coefficients has mean zero, so center and scale inputs and the response first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from ...algorithms import LocalWork
from ...errors import ConfigError
from ...training.run import Run
from ...typing import Fields, Float64s
from ..design import INTERCEPT, Design
from ..estimator import Estimator, analysis_registry, check_full_steps
from ..fitting import fit_rounds, linear_task
from ..forecast import Forecast
from ..inputs import EstimatorInput, as_given
from ..model_matrix import MissingValues
from ..run_facts import SHOWN, collinearity_notes, rows_table, run_facts
from ..summary import Summary, SummaryTable
from .device_covariance import LowRank
from .hm1_rounds import HM1Rounds
from .prediction import mean_rmse, predict_each, require_fitted

TUNING_GRID = (1.0, 0.3, 0.1, 0.03)
"""Multiples of the learning rate that are tried for the prior where the noise is not known."""

MANY = 500
"""Devices whose covariance is kept as a whole table, at most."""


@analysis_registry.add("hm1")
@dataclass
class HM1(Estimator):
    """Linear models of related devices with a learned covariance between devices.

    >>> from unalike.data import Federation
    >>> rng = np.random.default_rng(0)
    >>> x, owners = rng.normal(size=(60, 2)), np.arange(60) % 3
    >>> y = x @ np.array([1.0, -1.0]) + 0.1 * rng.normal(size=60)
    >>> data = Federation.from_owners(x, y, owners, classes=None)
    >>> HM1(rounds=10).fit(Design.of(data, intercept=False)).params.shape
    (3, 2)
    """

    refuses: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("bse", "cov_params", "conf_int", "return_std", "interval"),
        "it gives point estimates; HM2 gives intervals and tests",
    )

    rounds: int = 30
    local_steps: int = 20
    batch_size: int = 32
    """Rows of a step; 0 for all of them."""
    learning_rate: float | None = None
    damping: float = 0.1
    shrinkage: str = "map"
    """How strong the prior is: `map` as the posterior has it, `printed` as published, or `tuned` on
    validation rows."""
    in_loop: bool | None = None
    """Whether the prior is felt in every local step; None for devices with few rows only."""
    noise: float | None = None
    start: str = "random"
    rank: int | None = None
    """The rank of the covariance's factor; when not given, ten per coefficient for more than 500 devices and
    the whole table for fewer."""
    shrink_intercept: bool = False
    given: EstimatorInput | None = field(default=None, init=False, repr=False)
    design: Design | None = field(default=None, init=False, repr=False)
    run: Run | None = field(default=None, init=False, repr=False)

    usual_elsewhere: ClassVar[Fields] = {"batch_size": 0}

    def check_elsewhere(self) -> None:
        check_full_steps(self.batch_size)

    def fit(
        self, data: Any, formula: str | None = None, missing: MissingValues = "drop", **training: Any
    ) -> Self:
        """Fit to a federation, a design, or tables with a formula; `training` is what :func:`unalike.train`
        takes beside."""
        self.check_formula(formula)
        self.given = as_given(data, formula, missing)
        design = self.given.design
        check_learning_rate(design, self.learning_rate)
        rounds = self._rounds(design)
        tried = [rounds]
        if self.shrinkage == "tuned":
            if not design.federation.validation.sizes.any():
                raise ConfigError("a tuned shrinkage needs validation rows; use with_split or map.")
            tried = [replace(rounds, strength=strength) for strength in TUNING_GRID]
        task = linear_task(design)
        runs = [fit_rounds(design, task, method, self.rounds, **training) for method in tried]
        self.design = design
        self.run = min(runs, key=_validation_rmse) if len(runs) > 1 else runs[0]
        return self

    def _rounds(self, design: Design) -> HM1Rounds:
        free = not self.shrink_intercept and INTERCEPT in design.terms
        if free and len(design.terms) == 1:
            raise ConfigError(
                "HM1 shrinks coefficients beside the intercept, and the formula has none; add a term, or set "
                "shrink_intercept=true."
            )
        return HM1Rounds(
            work=LocalWork(steps=self.local_steps, batch_size=self.batch_size),
            damping=self.damping,
            learning_rate=self.learning_rate,
            shrinkage=self.shrinkage,
            in_loop=self.in_loop,
            noise=self.noise,
            start=self.start,
            rank=self._rank(design),
            shrunk=tuple(term != INTERCEPT for term in design.terms) if free else (),
        )

    def _rank(self, design: Design) -> int | None:
        if self.rank is None and len(design) > MANY:
            return min(10 * len(design.terms), len(design))
        return self.rank

    @property
    def params(self) -> Float64s:
        """The coefficients, one row per device."""
        return np.asarray(require_fitted(self.run).state["models"])

    @property
    def device_covariance(self) -> Float64s:
        """The covariance between devices after the last round."""
        kept = require_fitted(self.run).state["covariance"]
        if isinstance(kept, LowRank):
            factor = np.asarray(kept.factor)
            return float(kept.scale) * np.eye(len(factor)) + factor @ factor.T
        return np.asarray(kept)

    @property
    def device_correlation(self) -> Float64s:
        """How devices are related, between -1 and 1."""
        scale = np.sqrt(np.diag(self.device_covariance))
        return self.device_covariance / np.outer(scale, scale)

    def forecast(self, new: Any, client: int | None) -> Forecast:
        """Responses by a device's own coefficients; of a device that nobody has met, by the mean of all."""
        rows, params = self.fitted_to.rows(new), self.params
        return Forecast(rows @ (params.mean(axis=0) if client is None else params[client]))

    def rmse(self, split: str = "test") -> float:
        """The root mean squared error, averaged over devices with rows of that split."""
        design = require_fitted(self.design)
        return mean_rmse(design, predict_each(design, self.params, split), split)

    def summary(self, level: float = 0.95) -> Summary:
        """Coefficients and how devices are related; HM1 gives no standard errors."""
        design, run = require_fitted(self.design), require_fitted(self.run)
        rows = tuple(
            (design.federation.name(i), *self.params[i].tolist()) for i in range(min(len(design), SHOWN))
        )
        values = np.linalg.eigvalsh(self.device_covariance)[::-1]
        shares = tuple((f"{j + 1}", float(v), float(v / values.sum())) for j, v in enumerate(values[:5]))
        tables = (
            SummaryTable("coefficients", ("client", *design.terms), rows),
            SummaryTable("covariance of devices", ("direction", "variance", "share"), shares),
            rows_table(design),
        )
        note = "HM1 gives point estimates; HM2 gives intervals and tests."
        return Summary(
            "HM1: related devices", run_facts(design, run), tables, (note, *collinearity_notes(design))
        )


def check_learning_rate(design: Design, rate: float | None) -> None:
    """Raise where full steps of that rate would diverge for a client whose rows are here."""
    if rate is None or not design.is_here:
        return
    for i in range(len(design)):
        x, _ = design.client(i)
        most = 1 / np.linalg.eigvalsh(x.T @ x / max(len(x), 1))[-1] if len(x) else np.inf
        if rate > most:
            raise ConfigError(
                f"learning_rate {rate:g} would diverge at client {design.federation.name(i)!r}, which allows "
                f"at most {most:.3g}; leave it out to let every client choose."
            )


def _validation_rmse(run: Run) -> float:
    return float(np.nanmean(np.sqrt(2 * run.evaluate("validation")["loss"])))
