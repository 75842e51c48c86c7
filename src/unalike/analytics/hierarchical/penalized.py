"""Penalized regression (variable selection) with a common penalty and common noise.

X. Yue, "Federated Data Analytics: Theory and Application" (dissertation, University of Michigan, 2023),
section 3.5: coefficients have a lasso, ridge or elastic net prior with strength lam, and (log lam, log
noise) is learned from all devices by expectation propagation (:mod:`.expectation_propagation`). A posterior
never gives exact zeros: a predictor is left out at a device when its credible interval contains zero.

The ridge has a closed form. For the others each device samples, and keeps the draws of its coefficients.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import ConfigError
from ...training.run import Run
from ...typing import Bools, Float64s, Keywords
from ..design import INTERCEPT, Design
from ..estimator import Estimator, analysis_registry
from ..fitting import fit_rounds, linear_task
from ..forecast import Forecast, check_level
from ..inputs import EstimatorInput, as_given
from ..model_matrix import MissingValues
from ..serialization import shareable
from ..summary import Summary
from .device_draws import DRAWS, draw_ridge
from .device_posterior import DevicePosterior
from .expectation_propagation import ExpectationPropagation
from .moments import Moments
from .natural_parameters import Natural
from .penalized_sampling import sample_penalized
from .penalized_summary import penalized_summary
from .penalties import Penalty, hyper_prior_registry, penalty_registry
from .prediction import check_response, mean_rmse, predict_each, require_fitted
from .sites import RidgeSite
from .tilted_sampling import AUTOCORRELATION, natural_of_draws

if TYPE_CHECKING:
    from matplotlib.figure import Figure

THINNING = 4
FARTHEST = 20.0
"""How far (log lam, log noise) may move in a round: the noise of real data is anywhere."""


@shareable
@dataclass(frozen=True, kw_only=True)
class PenalizedRounds(ExpectationPropagation):
    """Expectation propagation whose devices sample their coefficients, too."""

    ratio: float = 1.0
    fused: bool = False
    width: int = 1

    def keepsake(self) -> dict[str, jax.Array]:
        return {"draws": jnp.zeros((self.draws // THINNING, self.width))}

    def new_site(
        self, moments: Moments, noise: jax.Array, cavity: Natural, start: jax.Array, key: jax.Array
    ) -> tuple[Natural, dict[str, jax.Array]]:
        begin = self.site.limit(jnp.stack([start[0], jnp.log(noise)]))
        found = sample_penalized(
            moments, Penalty(self.ratio, self.fused), cavity, begin, key, self.draws, self.burn_in
        )
        tilted = natural_of_draws(found[0], self.draws / AUTOCORRELATION)
        kept = found[1][: self.draws // THINNING * THINNING : THINNING]
        return tilted.over(cavity), {"draws": kept}


@analysis_registry.add("penalized")
@dataclass
class PenalizedRegression(Estimator):
    """Shrunken coefficients of every device and the predictors that each of them keeps.

    >>> from unalike.data import Federation
    >>> rng = np.random.default_rng(0)
    >>> x, owners = rng.normal(size=(200, 3)), np.arange(200) % 4
    >>> data = Federation.from_owners(x, 3 * x[:, 0] + rng.normal(size=200), owners, classes=None)
    >>> PenalizedRegression(prior="ridge").fit(data).select()[:, 0].all()
    np.True_
    """

    refuses: ClassVar[Mapping[str, str]] = {
        "newcomer": "nothing is known of the coefficients of a client without rows but that they are small; "
        "name the client"
    }

    prior: str = "lasso"
    """lasso, ridge, elastic-net:RATIO, or fused-lasso:RATIO (neighbors in the order of the formula)."""
    lambda_prior: str = "lognormal"
    """What is believed of the penalty: lognormal, half-cauchy or flat."""
    noise_prior: str = "lognormal"
    """The same of the noise."""
    rounds: int | None = None
    """4 with sampling and 15 without, when not given."""
    damping: float = 0.5
    draws: int = 1100
    burn_in: int = 400
    given: EstimatorInput | None = field(default=None, init=False, repr=False)
    design: Design | None = field(default=None, init=False, repr=False)
    run: Run | None = field(default=None, init=False, repr=False)
    told: dict[int, Float64s] = field(default_factory=dict, init=False, repr=False)
    """Draws that devices have told of their coefficients, where their rows are not here."""

    def fit(
        self, data: Any, formula: str | None = None, missing: MissingValues = "drop", **training: Any
    ) -> Self:
        """Fit to a federation, a design, or tables with a formula; `training` is what :func:`unalike.train`
        takes beside."""
        self.check_formula(formula)
        self.given = as_given(data, formula, missing, intercept=False)
        design = self.given.design
        if INTERCEPT in design.terms:
            raise ConfigError(
                "a penalty would shrink the intercept; center the response and leave it out (y ~ 0 + x)."
            )
        check_response(design)
        method = self._rounds(len(design.terms))
        self.run = fit_rounds(design, linear_task(design), method, method.rounds, **training)
        self.design = design
        return self

    def _rounds(self, width: int) -> ExpectationPropagation:
        penalty = penalty_registry.make(self.prior)
        beliefs = [hyper_prior_registry.make(name) for name in (self.lambda_prior, self.noise_prior)]
        common: Keywords = {
            "site": RidgeSite(width),
            "prior_mean": tuple(belief.mean for belief in beliefs),
            "prior_variance": tuple(belief.variance for belief in beliefs),
            "damping": self.damping,
            "farthest": FARTHEST,
        }
        if penalty.ratio == 0:
            return ExpectationPropagation(**common, rounds=self.rounds or 15)
        sampling: Keywords = {"draws": self.draws, "burn_in": self.burn_in, "tolerance": 0.0}
        return PenalizedRounds(
            **common,
            **sampling,
            rounds=self.rounds or 4,
            ratio=penalty.ratio,
            fused=penalty.fused,
            width=width,
        )

    @property
    def phi_mean(self) -> Float64s:
        """The posterior mean of (log lam, log noise)."""
        shift, precision = self._natural
        return np.asarray(np.linalg.solve(precision, shift), np.float64)

    @property
    def phi_cov(self) -> Float64s:
        """Its posterior covariance."""
        return np.asarray(np.linalg.inv(self._natural[1]), np.float64)

    def device_posterior(self, client: str | int, draws: int = DRAWS, seed: int = 0) -> DevicePosterior:
        """What a device knows of its own coefficients."""
        client = self.known_client(client)
        design, run = require_fitted(self.design), require_fitted(self.run)
        noise = float(np.exp(self.phi_mean[1]))
        if not design.is_here:
            if client not in self.told:
                raise ConfigError(f"client {design.federation.name(client)!r} has not told its coefficients.")
            return DevicePosterior(self.told[client], design.terms, noise)
        if isinstance(run.setting.algorithm, PenalizedRounds):
            kept, fresh = run.memories.gather(np.array([client]))
            if fresh.any():
                raise ConfigError(f"client {design.federation.name(client)!r} never took part.")
            return DevicePosterior(np.asarray(kept["draws"][0]), design.terms, noise)
        found = draw_ridge(*self._natural, *design.client(client), draws, seed)
        return DevicePosterior(found, design.terms, noise)

    @property
    def knows(self) -> tuple[int, ...]:
        """The devices whose coefficients are known here."""
        design = require_fitted(self.design)
        return tuple(range(len(design))) if design.is_here else tuple(sorted(self.told))

    @property
    def params(self) -> Float64s:
        """The posterior means of all coefficients, one row per device."""
        return np.stack([posterior.mean for posterior in self._posteriors()])

    @property
    def bse(self) -> Float64s:
        """The posterior standard deviations of all coefficients, one row per device."""
        return np.stack([posterior.std for posterior in self._posteriors()])

    def cov_params(self) -> Float64s:
        """The posterior covariance of the coefficients, one matrix per device."""
        each = [np.cov(posterior.draws, rowvar=False, ddof=1) for posterior in self._posteriors()]
        return np.stack([np.atleast_2d(one) for one in each])

    def conf_int(self, level: float = 0.95) -> Float64s:
        """Equal-tailed credible intervals of all coefficients (devices x coefficients x 2)."""
        check_level(level)
        return np.stack([posterior.interval(level) for posterior in self._posteriors()])

    def select(self, level: float = 0.9) -> Bools:
        """Which predictors each device keeps, one row per device."""
        return np.stack([posterior.selected(level) for posterior in self._posteriors()])

    def refit(self, level: float = 0.9) -> Float64s:
        """Least squares of every device on the predictors that it keeps, zeros elsewhere."""
        design = require_fitted(self.design)
        found = np.zeros((len(design), len(design.terms)))
        for i, kept in enumerate(self.select(level)):
            x, y = design.client(i)
            found[i, kept] = np.linalg.lstsq(x[:, kept], y, rcond=None)[0]
        return found

    def forecast(self, new: Any, client: int | None) -> Forecast:
        """Responses by a device's own coefficients."""
        if client is None:
            raise self.refusal("newcomer")
        return self.device_posterior(client).forecast(self.fitted_to.rows(new))

    def figures(self) -> dict[str, Figure]:
        design = self.fitted_to.design
        if not design.is_here:
            return {}
        from ..figures.hierarchical import MOST_TERMS, caterpillar

        return {f"Clients: {term}": caterpillar(self, term) for term in design.terms[:MOST_TERMS]}

    def rmse(self, split: str = "test", refit: bool = False) -> float:
        """The root mean squared error averaged over devices, of posterior means or of :meth:`refit`."""
        design = require_fitted(self.design)
        params = self.refit() if refit else self.params
        return mean_rmse(design, predict_each(design, params, split), split)

    def summary(self, level: float = 0.95) -> Summary:
        """The penalty and the noise with intervals, and each device's coefficients and selection."""
        return penalized_summary(self, require_fitted(self.design), require_fitted(self.run), level)

    def _posteriors(self) -> Iterator[DevicePosterior]:
        return map(self.device_posterior, range(len(require_fitted(self.design))))

    @property
    def _natural(self) -> tuple[Float64s, Float64s]:
        kept = require_fitted(self.run).state["posterior"]
        return np.asarray(kept[0]), np.asarray(kept[1])
