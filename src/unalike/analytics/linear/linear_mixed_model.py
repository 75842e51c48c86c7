"""Linear mixed models: fixed effects, and random effects per client.

    y_k = X_k b + Z_k u_k + e,      u_kj ~ N(0, t_j),   e ~ N(0, s)         Z_k: the columns that vary

N. Laird and J. Ware, "Random-Effects Models for Longitudinal Data", 1982. With r = y - X b, each client's
part of minus the log-likelihood needs only small matrices:

    log|V| = n log s + log|I + T^1/2 Z'Z T^1/2 / s|,      r'V^-1 r = (r'r - r'Z (s T^-1 + Z'Z)^-1 Z'r) / s

Restricted maximum likelihood adds log|sum_k X_k'V_k^-1 X_k| / 2, whose derivatives the server makes of sums,
too. So both are exactly those of the pooled rows (D. Bates et al., "Fitting Linear Mixed-Effects Models Using
lme4", 2015, for independent effects).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import DataError
from ...models import Batch
from ...training.run import Run
from ...typing import Float64s, PyTree
from ..estimator import Estimator, analysis_registry
from ..fitting import fit_rounds, linear_task
from ..forecast import Forecast
from ..inputs import EstimatorInput, as_given
from ..model_matrix import MissingValues
from ..run_facts import run_facts
from ..serialization import shareable
from ..summary import Cell, Summary, SummaryTable
from .newton import Derivatives, Newton, Objective
from .objectives import LeastSquares
from .result import Coefficients

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROUNDS = 200
LEAST_VARIANCE = 1e-8
"""Variances of effects are at least this part of the noise's; below it, clients do not differ."""
ALIKE = 1e-2
"""Where a client's own estimate counts less than this, its effect is that of everybody. At a variance of zero
the search ends many orders of magnitude below."""


@shareable
@dataclass(frozen=True)
class MarginalLikelihood(Objective):
    """Minus the log-likelihood of coefficients, log s and log t_j / s, in this order."""

    columns: int
    varying: tuple[int, ...]
    """The columns whose coefficients differ between clients."""
    start: tuple[float, ...]
    restricted: bool = True
    units: tuple[float, ...] = ()
    """The size of every column that varies, by which it is divided: variances are then compared with the
    noise whatever a column is measured in. Empty for ones."""

    def first(self) -> Float64s:
        return np.array(self.start)

    def of_client(self, params: jax.Array, rows: Batch) -> jax.Array:
        b, log_noise, ratio = self._split(params)
        residual = rows.weight * (rows.y - rows.x @ b)
        z = rows.weight[:, None] * self._effects(rows.x) * jnp.sqrt(ratio)
        inner = jnp.eye(len(self.varying)) + z.T @ z
        explained = z.T @ residual
        fit = residual @ residual - explained @ jnp.linalg.solve(inner, explained)
        size = jnp.sum(rows.weight)
        log_det = size * (log_noise + jnp.log(2 * jnp.pi)) + jnp.linalg.slogdet(inner)[1]
        return 0.5 * (log_det + fit * jnp.exp(-log_noise))

    def other_sums(self, params: jax.Array, rows: Batch) -> PyTree:
        if not self.restricted:
            return {}
        variances = params[self.columns :]

        def information(variances: jax.Array) -> jax.Array:
            return self._information(variances, rows)

        return {
            "information": information(variances),
            "slope": jax.jacfwd(information)(variances),
            "curvature": jax.jacfwd(jax.jacfwd(information))(variances),
        }

    def no_sums(self) -> PyTree:
        if not self.restricted:
            return {}
        p, m = self.columns, 1 + len(self.varying)
        shapes = {"information": (p, p), "slope": (p, p, m), "curvature": (p, p, m, m)}
        return {name: jnp.zeros(shape) for name, shape in shapes.items()}

    def of_server(self, params: jax.Array, sums: PyTree) -> Derivatives | None:
        """log|A| / 2 - p/2 log 2 pi and its derivatives by the variances, A = sum_k X_k'V_k^-1 X_k."""
        if not self.restricted:
            return None
        a, slope = sums["information"], sums["slope"]
        share = jnp.einsum("ij,jkm->ikm", jnp.linalg.inv(a), slope)
        curved = jnp.einsum("ij,jiml->ml", jnp.linalg.inv(a), sums["curvature"])
        gradient = 0.5 * jnp.einsum("iim->m", share)
        hessian = 0.5 * (curved - jnp.einsum("ijm,jil->ml", share, share))
        value = 0.5 * (jnp.linalg.slogdet(a)[1] - self.columns * jnp.log(2 * jnp.pi))
        p = self.columns
        whole = jnp.zeros((self.width, self.width)).at[p:, p:].set(hessian)
        return Derivatives(value, jnp.zeros(self.width).at[p:].set(gradient), whole)

    def _information(self, variances: jax.Array, rows: Batch) -> jax.Array:
        """X'V^-1 X."""
        x = rows.weight[:, None] * rows.x
        z = self._effects(x) * jnp.sqrt(self._ratio(variances[1:]))
        across = z.T @ x
        inner = jnp.eye(len(self.varying)) + z.T @ z
        return (x.T @ x - across.T @ jnp.linalg.solve(inner, across)) * jnp.exp(-variances[0])

    def _effects(self, x: jax.Array) -> jax.Array:
        """The columns that vary, in their units."""
        return x[:, jnp.array(self.varying)] / jnp.array(self.units or (1.0,) * len(self.varying))

    def _split(self, params: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        p = self.columns
        return params[:p], params[p], self._ratio(params[p + 1 :])

    @staticmethod
    def _ratio(logs: jax.Array) -> jax.Array:
        return jnp.exp(logs) + LEAST_VARIANCE


@analysis_registry.add("mixed")
@dataclass
class MixedModel(Estimator):
    """A linear model in which some coefficients differ between clients; `y ~ age + (1 | client)`.

    >>> rng = np.random.default_rng(0)
    >>> tables = {}
    >>> for k in range(12):
    ...     x = rng.normal(size=30)
    ...     tables[f"c{k}"] = {"x": x, "y": 2 * x + rng.normal() + 0.1 * rng.normal(size=30)}
    >>> fitted = MixedModel().fit(tables, "y ~ x + (1 | client)")
    >>> bool(abs(fitted.params[1] - 2) < 0.05), bool(0.2 < fitted.variances[0] < 5)
    (True, True)
    """

    restricted: bool = True
    tolerance: float = 1e-11

    random_effects: ClassVar[bool] = True

    given: EstimatorInput = field(init=False, repr=False)
    run: Run = field(init=False, repr=False)
    _mean_squares: Float64s = field(init=False, repr=False)

    def fit(
        self, data: Any, formula: str | None = None, missing: MissingValues = "drop", **training: Any
    ) -> Self:
        """Fit to tables with a formula, or to a design that says which terms vary."""
        self.given = as_given(data, formula, missing)
        design = self.given.design
        if not design.varying:
            raise DataError("say which coefficients differ between clients, such as (1 | client).")
        if len(design) < 2:
            raise DataError("effects of clients need at least two clients.")
        p = len(design.terms)
        task, most = linear_task(design), {**training, "out": None, "resume": False}
        plain = fit_rounds(design, task, Newton(objective=LeastSquares(p)), 3, **most).state
        self._mean_squares = np.diag(np.asarray(plain["hessian"])) / max(float(plain["rows"]), 1.0)
        noise = 2 * float(plain["value"]) / max(float(plain["rows"]), 1.0)
        if not noise > 0:
            raise DataError(f"the response {design.response!r} is explained without any noise.")
        varying = tuple(design.terms.index(term) for term in design.varying)
        start = (*np.asarray(plain["evaluated"]).tolist(), float(np.log(noise)), *(-1.0,) * len(varying))
        units = tuple(np.sqrt(np.maximum(self._mean_squares[list(varying)], 1e-300)).tolist())
        likelihood = MarginalLikelihood(p + 1 + len(varying), p, varying, start, self.restricted, units)
        method = Newton(objective=likelihood, tolerance=self.tolerance)
        self.run = fit_rounds(design, task, method, MOST_ROUNDS, **training)
        if self.scale < 1e-12 * noise:
            raise DataError(f"the response {design.response!r} is explained without any noise.")
        return self

    @property
    def params(self) -> Float64s:
        """The shared coefficients."""
        return self._point[: len(self.terms)]

    @property
    def scale(self) -> float:
        """The variance of the noise."""
        return float(np.exp(self._point[len(self.terms)]))

    @property
    def variances(self) -> Float64s:
        """The variance between clients of every coefficient that varies."""
        ratios = np.exp(self._point[len(self.terms) + 1 :])
        return self.scale * ratios / self._mean_squares[self._varying]

    @property
    def reliability(self) -> Float64s:
        """For every coefficient that varies, the share of a client's own estimate in its effect, for a client
        of average size; whatever the units of the column, near 0 where all clients are alike."""
        each = self._mean_squares[self._varying] * self.nobs / len(self.given.design)
        told = self.variances * each / self.scale
        return told / (1 + told)

    @property
    def llf(self) -> float:
        """The log-likelihood, restricted where the fit was."""
        return -float(self.run.state["value"])

    @property
    def nobs(self) -> int:
        """All rows."""
        return round(float(self.run.state["rows"]))

    @property
    def coefficients(self) -> Coefficients:
        """Shared coefficients with their covariance, as if the variances were known."""
        p = len(self.terms)
        hessian = np.asarray(self.run.state["hessian"], np.float64)[:p, :p]
        covariance = np.asarray(np.linalg.inv(hessian), np.float64)
        return Coefficients(self.terms, self.params, covariance)

    @property
    def bse(self) -> Float64s:
        """Standard errors of the shared coefficients."""
        return self.coefficients.bse

    def cov_params(self) -> Float64s:
        """The covariance of the shared coefficients, as if the variances were known."""
        return self.coefficients.covariance

    def conf_int(self, level: float = 0.95) -> Float64s:
        """Confidence intervals of the shared coefficients."""
        return self.coefficients.conf_int(level)

    def effects(self) -> tuple[Float64s, Float64s]:
        """How far each client's coefficients are from the shared ones (best linear unbiased prediction), and
        the standard deviations of these; one row per client. They are computed where the rows are."""
        design = self.given.design
        found = [self._effect(*design.client(k)) for k in range(len(design))]
        means, spreads = zip(*found, strict=True)
        return np.array(means), np.array(spreads)

    def forecast(self, new: Any, client: int | None) -> Forecast:
        """A client's responses by its own effects; those of a client that nobody has met by the shared
        coefficients, with the variance between clients.

        The variance of a prediction is that of Henderson's equations (1975): an effect depends on the shared
        coefficients b through the client's residuals, u(b) = u(0) - G b, so that b counts by x - G'z.
        """
        x = self.given.rows(new)
        z, shared = x[:, self._varying], self.cov_params()
        if client is None:
            variance = _forms(x, shared) + z**2 @ self.variances
            return Forecast(x @ self.params, np.sqrt(variance + self.scale))
        rows, y = self.given.design.client(client)
        effect, _ = self._effect(rows, y)
        own = self._effect_covariance(rows)
        gain = own @ rows[:, self._varying].T @ rows / self.scale
        variance = _forms(x - z @ gain, shared) + _forms(z, own)
        return Forecast(x @ self.params + z @ effect, np.sqrt(variance + self.scale))

    def figures(self) -> dict[str, Figure]:
        if not self.fitted_to.design.is_here:
            return super().figures()
        from ..figures.estimates import effects_of_clients

        effects, spreads = self.effects()
        found = {
            f"Clients: {term}": effects_of_clients(term, self.clients, effects[:, j], spreads[:, j])
            for j, term in enumerate(self.given.design.varying)
        }
        return {**super().figures(), **found}

    def summary(self, level: float = 0.95) -> Summary:
        """Coefficients, and how much of the variance lies between clients."""
        how = "restricted maximum likelihood" if self.restricted else "maximum likelihood"
        facts: tuple[tuple[str, Cell], ...] = (
            *run_facts(self.given.design, self.run),
            ("log-likelihood", self.llf),
        )
        parts = [
            *zip(self.given.design.varying, self.variances.tolist(), strict=True),
            ("noise", self.scale),
        ]
        rows = tuple((name, variance, float(np.sqrt(variance))) for name, variance in parts)
        spread = SummaryTable("Variance between clients", ("term", "variance", "std. deviation"), rows)
        same = [
            name
            for name, share in zip(self.given.design.varying, self.reliability, strict=True)
            if share < ALIKE
        ]
        notes = [f"No difference between clients was found in: {', '.join(same)}."] if same else []
        if len(self.given.design.varying) > 1:
            notes.append(
                f"Effects of clients in {', '.join(self.given.design.varying)} are taken as independent of "
                "each other: a bar in the formula means what `||` means in lme4, without correlations."
            )
        notes += self.given.remarks()
        if self.run.rounds >= MOST_ROUNDS:
            notes.append("The likelihood was still growing: these numbers are not those of its maximum.")
        return Summary(f"Mixed model by {how}", facts, (self.coefficients.table(level), spread), tuple(notes))

    @property
    def _point(self) -> Float64s:
        return np.asarray(self.run.state["evaluated"], np.float64)

    @property
    def _varying(self) -> list[int]:
        return [self.terms.index(term) for term in self.given.design.varying]

    def _effect(self, x: Float64s, y: Float64s) -> tuple[Float64s, Float64s]:
        z, residual = x[:, self._varying], y - x @ self.params
        covariance = self._effect_covariance(x)
        return covariance @ (z.T @ residual / self.scale), np.sqrt(np.diag(covariance))

    def _effect_covariance(self, x: Float64s) -> Float64s:
        """Of a client's effects, if the shared coefficients are known."""
        z = x[:, self._varying]
        precision = z.T @ z / self.scale + np.diag(1 / self.variances)
        return np.asarray(np.linalg.inv(precision), np.float64)


def _forms(rows: Float64s, matrix: Float64s) -> Float64s:
    """r' M r of every row."""
    return np.einsum("ij,jk,ik->i", rows, matrix, rows)
