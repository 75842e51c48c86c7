"""HM2: a common distribution of devices' coefficients, with intervals.

X. Yue, "Federated Data Analytics: Theory and Application" (dissertation, University of Michigan, 2023),
section 3.4:

    y | theta_k ~ N(X theta_k, noise_k),    theta_k ~ N(mu, diag(tau)),    mu ~ N(0, 1),   log tau ~ N(0, 1)

For exchangeable devices, where intervals, tests or new devices matter. The posterior of (mu, log tau) arises
in rounds (:mod:`.expectation_propagation`); a device's own coefficients are drawn at the device.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ...core.random import generator
from ...training.run import Run
from ...typing import Float64s
from ..design import Design
from ..estimator import Estimator, analysis_registry
from ..fitting import fit_rounds, linear_task
from ..forecast import Forecast, check_level
from ..inputs import EstimatorInput, as_given
from ..model_matrix import MissingValues
from ..summary import Summary
from .device_posterior import ContrastTest, DevicePosterior, compose
from .expectation_propagation import ExpectationPropagation
from .hm2_summary import hm2_summary
from .natural_parameters import Natural
from .prediction import check_response, mean_rmse, predict_each, require_fitted
from .sites import LOG_LIMIT, NormalSite

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWS = 2000


@analysis_registry.add("hm2")
@dataclass
class HM2(Estimator):
    """Linear models of devices whose coefficients are draws of one normal distribution.

    >>> from unalike.data import Federation
    >>> rng = np.random.default_rng(0)
    >>> x, owners = rng.normal(size=(300, 2)), np.arange(300) % 10
    >>> y = x @ np.array([1.0, 0.0]) + rng.normal(size=10)[owners] * x[:, 0] + rng.normal(size=300)
    >>> data = Federation.from_owners(x, y, owners, classes=None)
    >>> fitted = HM2().fit(Design.of(data, intercept=False))
    >>> bool(fitted.variances[0] > fitted.variances[1]), fitted.conf_int().shape
    (True, (2, 2))
    """

    rounds: int = 15
    damping: float = 0.5
    tilted: str = "laplace"
    """How a device approximates what it believes: `laplace`, or `mcmc` (few devices, small damping)."""
    common_variance: bool = False
    """Whether all coefficients vary alike between devices."""
    noise: float | None = None
    """The variance of all devices' noise, where it is known."""
    prior_variance: float = 1.0
    """Of every mean coefficient."""
    minimum_rows: int = 1
    """Devices with fewer rows say nothing; they still have a posterior of their own."""
    patience: int = 1
    given: EstimatorInput | None = field(default=None, init=False, repr=False)
    design: Design | None = field(default=None, init=False, repr=False)
    run: Run | None = field(default=None, init=False, repr=False)

    def fit(
        self, data: Any, formula: str | None = None, missing: MissingValues = "drop", **training: Any
    ) -> Self:
        """Fit to a federation, a design, or tables with a formula; `training` is what :func:`unalike.train`
        takes beside."""
        self.check_formula(formula)
        self.given = as_given(data, formula, missing)
        design = self.given.design
        check_response(design)
        site = NormalSite(len(design.terms), self.common_variance)
        width, logs = site.width, site.size - site.width
        method = ExpectationPropagation(
            site=site,
            prior_mean=(0.0,) * site.size,
            prior_variance=(self.prior_variance,) * width + (1.0,) * logs,
            rounds=self.rounds,
            damping=self.damping,
            tilted=self.tilted,
            noise=self.noise,
            patience=self.patience,
            minimum_rows=self.minimum_rows,
        )
        self.run = fit_rounds(design, linear_task(design), method, self.rounds, **training)
        self.design = design
        self._draws.cache_clear()
        return self

    def __post_init__(self) -> None:
        self._draws = lru_cache(maxsize=8)(self._phi_draws)

    # The population ----------------------------------------------------------------------------------------

    @property
    def phi_mean(self) -> Float64s:
        """The posterior mean of the hyper-parameters: means, then logarithms of variances."""
        return np.linalg.solve(self._natural.precision, self._natural.shift)

    @property
    def phi_cov(self) -> Float64s:
        """The posterior covariance of the hyper-parameters."""
        return np.linalg.inv(self._natural.precision)

    @property
    def params(self) -> Float64s:
        """The mean coefficients of the population."""
        return self.phi_mean[: self._width]

    @property
    def bse(self) -> Float64s:
        """The posterior standard deviations of :attr:`params`."""
        return np.sqrt(np.diag(self.phi_cov))[: self._width]

    @property
    def variances(self) -> Float64s:
        """How much each coefficient varies between devices: the posterior median of its variance."""
        return np.broadcast_to(np.exp(self.phi_mean[self._width :]), self._width)

    @property
    def degrees_of_freedom(self) -> Float64s:
        """How well the squares of :attr:`bse` are known: 2 / var(log bse^2), as the logarithm of a chi-square
        over so many degrees has the variance 2 / degrees (Satterthwaite, 1946).

        With K devices, bse^2 is about (tau + what the rows of a device leave unknown) / K, of which tau is
        the part tau / (K bse^2); what rows leave unknown counts as known.
        """
        unknown = np.broadcast_to(np.diag(self.phi_cov)[self._width :], self._width)
        part = np.minimum(self.variances / (len(require_fitted(self.design)) * self.bse**2), 1.0)
        return 2 / (part**2 * unknown)

    def cov_params(self) -> Float64s:
        """The posterior covariance of :attr:`params`."""
        return self.phi_cov[: self._width, : self._width]

    def conf_int(self, level: float = 0.95) -> Float64s:
        """Credible intervals of :attr:`params`, as rows (lower, upper).

        The posterior of means and log variances is approximated by one normal distribution, in which the
        variance of a mean does not depend on tau; that tau is estimated is made up for by quantiles of
        Student's t, which are wider where there are few devices.
        """
        from scipy.stats import t

        check_level(level)
        half = t.ppf((1 + level) / 2, self.degrees_of_freedom) * self.bse
        return np.column_stack([self.params - half, self.params + half])

    def variance_interval(self, level: float = 0.95) -> Float64s:
        """Credible intervals of :attr:`variances`."""
        spread = np.sqrt(np.diag(self.phi_cov))[self._width :]
        rows = np.exp(interval_of_normal(self.phi_mean[self._width :], spread, level))
        return np.broadcast_to(rows, (self._width, 2))

    def heterogeneity(self, variance: float = 0.01) -> Float64s:
        """The posterior probability that a coefficient varies less between devices than `variance`."""
        _, tau = self._draws(DRAWS, 0)
        return np.mean(tau < variance, axis=0)

    # Single devices ----------------------------------------------------------------------------------------

    def device_posterior(self, client: str | int, draws: int = DRAWS, seed: int = 0) -> DevicePosterior:
        """What a device of the federation knows of its own coefficients."""
        number = self.known_client(client)
        x, y = require_fitted(self.design).client(number)
        return self.new_device(x, y, draws, seed, place=number)

    def new_device(
        self,
        x: ArrayLike | None = None,
        y: ArrayLike | None = None,
        draws: int = DRAWS,
        seed: int = 0,
        place: int = -1,
    ) -> DevicePosterior:
        """What a device knows of its coefficients that joins with these rows, or with none."""
        rows = np.zeros((0, self._width)) if x is None else np.asarray(x, np.float64)
        response = np.zeros(0) if y is None else np.asarray(y, np.float64)
        mu, tau = self._draws(draws, seed)
        noise = self.noise_of(rows, response)
        rng = generator(seed, "device posterior", place + 1)
        found = compose(rows.T @ rows, rows.T @ response, np.asarray(noise), mu, tau, rng)
        return DevicePosterior(found, require_fitted(self.design).terms, noise)

    def device_params(self) -> Float64s:
        """The coefficients of every device at the posterior mean of the population, one row each."""
        design = require_fitted(self.design)
        return np.stack([self.start_of(*design.client(i)) for i in range(len(design))])

    def start_of(self, x: ArrayLike, y: ArrayLike) -> Float64s:
        """A device's coefficients in closed form, at the posterior mean of the population: a ridge towards
        the mean of all, and that mean itself without rows."""
        rows, response = np.asarray(x, np.float64), np.asarray(y, np.float64)
        noise = self.noise_of(rows, response)
        precision = rows.T @ rows / noise + np.diag(1 / self.variances)
        signal = rows.T @ response / noise + self.params / self.variances
        return np.asarray(np.linalg.solve(precision, signal), np.float64)

    def test(self, client: str | int, contrast: str | ArrayLike, level: float = 0.95) -> ContrastTest:
        """A device's coefficient, or a contrast of them, against zero."""
        return self.device_posterior(client).test(contrast, level)

    def difference(
        self, one: str | int, other: str | int, contrast: str | ArrayLike, level: float = 0.95
    ) -> ContrastTest:
        """A contrast of one device minus that of another, against zero."""
        gap = self.device_posterior(one).minus(self.device_posterior(other))
        return gap.test(contrast, level)

    def forecast(self, new: Any, client: int | None) -> Forecast:
        """Responses by a device's own coefficients; of a device that nobody has met, by a draw of them from
        the population, whose mean is :attr:`params`."""
        rows = self.fitted_to.rows(new)
        if client is not None:
            return self.device_posterior(client).forecast(rows)
        return replace(self.new_device().forecast(rows), mean=rows @ self.params)

    def figures(self) -> dict[str, Figure]:
        design = self.fitted_to.design
        if not design.is_here:
            return super().figures()
        from ..figures.hierarchical import MOST_TERMS, caterpillar, shrinkage

        terms = design.terms[:MOST_TERMS]
        clients = {f"Clients: {term}": caterpillar(self, term) for term in terms}
        pulled = {f"Shrinkage: {term}": shrinkage(self, term) for term in terms}
        return {**super().figures(), **clients, **pulled}

    def rmse(self, split: str = "test") -> float:
        """The root mean squared error, averaged over devices with rows of that split."""
        design = require_fitted(self.design)
        return mean_rmse(design, predict_each(design, self.device_params(), split), split)

    def noise_of(self, x: Float64s, y: Float64s) -> float:
        """The variance of a device's noise: its own estimate, or the others' where its rows are too few."""
        if self.noise is not None:
            return self.noise
        left = len(y) - x.shape[1]
        if left > 0:
            found = np.linalg.lstsq(x, y, rcond=None)[0]
            return max(float(np.sum((y - x @ found) ** 2)) / left, 1e-12 * float(y @ y) / len(y))
        state = require_fitted(self.run).state
        tellers = float(state["tellers"])
        return float(np.exp(float(state["log_noise"]) / tellers)) if tellers else 1.0

    def summary(self, level: float = 0.95) -> Summary:
        """Means, variances between devices, their intervals and tests, rows, rounds and bytes."""
        return hm2_summary(self, require_fitted(self.design), require_fitted(self.run), level)

    @property
    def _natural(self) -> Natural:
        kept = require_fitted(self.run).state["posterior"]
        return Natural(np.asarray(kept[0]), np.asarray(kept[1]))  # type: ignore[arg-type]

    @property
    def _width(self) -> int:
        return len(require_fitted(self.design).terms)

    def _phi_draws(self, draws: int, seed: int) -> tuple[Float64s, Float64s]:
        """Draws of means and variances of the population; the same for all devices."""
        rng = generator(seed, "hyper-parameters")
        factor = np.linalg.cholesky(self.phi_cov)
        phi = self.phi_mean + rng.normal(size=(draws, len(self.phi_mean))) @ factor.T
        tau = np.exp(np.clip(phi[:, self._width :], -LOG_LIMIT, LOG_LIMIT))
        return phi[:, : self._width], np.broadcast_to(tau, (draws, self._width))


def interval_of_normal(mean: Float64s, std: Float64s, level: float) -> Float64s:
    """Central intervals of normal distributions, as rows (lower, upper)."""
    from scipy.stats import norm

    half = norm.ppf((1 + level) / 2) * std
    return np.column_stack([mean - half, mean + half])
