"""Federated Gaussian process regression: predictions with their uncertainty.

The prior's hyper-parameters are learned by :class:`.FGPR` (Yue and Kontar, Federated Gaussian Process, 2024);
a client predicts with that prior after it has seen its own rows:

    y(x) | y_k  ~  N( k(x, X_k) C^-1 y_k,   k(x, x) - k(x, X_k) C^-1 k(X_k, x) + noise^2 )

in its own units. A client that took no part gets its predictions the same way, without any training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from threadpoolctl import threadpool_limits

from ...algorithms.shared.optimizers import Optimizer
from ...data.tables import Table
from ...data.train_test_split import PARTS
from ...errors import ConfigError, unknown
from ...training.run import Run
from ...typing import Bools, Document, Fields, Float64s
from ..design import INTERCEPT, Design, flat_features
from ..estimator import Estimator, analysis_registry, check_full_steps
from ..fitting import fit_rounds
from ..forecast import Forecast
from ..inputs import EstimatorInput, as_given
from ..model_matrix import MissingValues
from ..summary import Summary
from .calibration import Accuracy, accuracy_of
from .client_process import ClientProcess
from .fgpr import FGPR, PROCESS_TASK
from .kernels import Kernel
from .posterior import MOST_ROWS, Posterior
from .process_summary import summarize
from .scaling import Domain, OutputScaling, require_domain, scale_design

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@analysis_registry.add("gp")
@dataclass
class GaussianProcess(Estimator):
    """A Gaussian process whose prior all clients learn together.

    >>> from unalike.data import Federation
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 10, size=(60, 1))
    >>> clients = {"here": (x[:30], np.sin(x[:30, 0])), "there": (x[30:], -np.sin(x[30:, 0]))}
    >>> both = Federation.from_clients(clients, test_fraction=0.0)
    >>> process = GaussianProcess(rounds=40, learning_rate=0.1).fit(both)
    >>> mean, std = process.predict([[2.0]], "there", return_std=True)
    >>> bool(abs(mean[0] + np.sin(2.0)) < 0.1)
    True
    """

    refuses: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(
            ("bse", "cov_params", "conf_int"),
            "its hyper-parameters are averages over clients, whose sampling distribution is not known",
        ),
        "newcomer": "a process predicts from rows, in the units of a client; name the client, or use "
        "adapt(x, y) for a new one",
    }

    kernel: str = "rbf"
    """rbf, matern32, matern52, ou, periodic:PERIOD, or a sum such as `rbf+ou`."""
    ard: bool = False
    """Whether every input has a length scale of its own."""
    rounds: int = 100
    local_steps: int = 5
    batch_size: int = 32
    optimizer: str = "adam"
    learning_rate: float = 0.02
    schedule: str = "constant"
    start: tuple[float, ...] = (1.0, 0.1, 0.5)
    """Signal and noise (deviations of scaled outputs) and length (in scaled inputs) to begin with."""
    bounds: tuple[float, float] = (1e-3, 1e2)
    parametrization: str | None = None
    """What clients descend on and the server averages: the `log` of hyper-parameters (default), or the
    `natural` ones, as published (default where the scaling is that of the theory)."""
    scaling: str = "rows"
    """What gradients are divided by: `rows`, `theory` (the logarithm of rows, for signals) or `none`."""
    weights: Any = "data"
    """How much clients count: by their rows (`data`), `equal`, or given numbers that sum to one."""
    domain: Domain | None = None
    """The known range of inputs; without it, clients agree on the smallest and largest that they have."""
    standardize: bool = True
    """Whether every client centers and scales its outputs."""
    personal_noise: bool = False
    conditioning: str = "auto"
    most_rows: int = MOST_ROWS
    """Rows above which `auto` conditions on the nearest ones only."""

    usual_elsewhere: ClassVar[Fields] = {"batch_size": 0}

    def fit(
        self, data: Any, formula: str | None = None, missing: MissingValues = "drop", **training: Any
    ) -> Self:
        """Learn the prior from a federation, a design, or tables with a formula; `training` is what
        :func:`unalike.train` takes beside (`seed`, `participation`, `engine`, `out`, `resume`...)."""
        self.check_formula(formula)
        given = None
        if formula is not None or isinstance(data, EstimatorInput):
            given = as_given(data, formula, missing)
            data = given.design
        scaled = scale_design(data, self.domain, self.standardize)
        federation = scaled.design.federation
        if not (isinstance(self.weights, str) and self.weights == "data"):
            federation = federation.with_importance(self.weights)
            scaled = scaled._replace(design=Design(federation, scaled.design.terms, scaled.design.response))
        method = self.method(len(scaled.design.terms))
        training.setdefault("evaluate_every", 0)
        self._scaled, self._method = scaled, method
        self.given = EstimatorInput(scaled.design) if given is None else replace(given, design=scaled.design)
        # Every core factorizes small matrices of its own clients; threads below that would only wait.
        with threadpool_limits(1, "blas"):
            self._run = fit_rounds(scaled.design, PROCESS_TASK, method, self.rounds, **training)
        return self

    def check_elsewhere(self) -> None:
        require_domain(self.domain)
        check_full_steps(self.batch_size)

    def units(self) -> Document:
        """In which units clients compute, as words for those whose rows are elsewhere."""
        known = self.domain is None or isinstance(self.domain, str)
        domain = self.domain if known else [np.asarray(edge).tolist() for edge in self.domain or ()]
        return {"domain": domain, "standardize": self.standardize}

    def method(self, inputs: int) -> FGPR:
        """The algorithm that these settings mean, for rows with so many inputs."""
        return FGPR(
            kernel=Kernel(self.kernel, inputs, self.ard),
            start=tuple(self.start),
            local_steps=self.local_steps,
            batch_size=self.batch_size,
            optimizer=Optimizer(self.optimizer, self.learning_rate, self.schedule),
            bounds=(self.bounds[0], self.bounds[1]),
            personal_noise=self.personal_noise,
            parametrization=self.parametrization,
            scaling=self.scaling,
        )

    @property
    def run(self) -> Run:
        """The training run, with its history and traffic."""
        return self._fitted()._run

    @property
    def log_params(self) -> Float64s:
        """The learned vector: logarithms of signals, noise and lengths."""
        return np.asarray(self.run.state["params"])

    @property
    def terms(self) -> tuple[str, ...]:
        """What the hyper-parameters are called."""
        return tuple(self._fitted()._method.kernel.names())

    @property
    def params(self) -> Float64s:
        """The learned hyper-parameters: standard deviations, and lengths in scaled inputs."""
        return np.exp(self.log_params)

    @property
    def hyper_parameters(self) -> dict[str, float]:
        """The same by name."""
        return dict(zip(self.terms, self.params.tolist(), strict=True))

    def client(self, client: str | int) -> ClientProcess:
        """The process of one client of the training, by name or number."""
        i = self.known_client(client)
        x, y = self._scaled.design.client(i)
        return self._process(x, y, self._scaled.outputs[i], self.client_params(i))

    def client_params(self, client: str | int) -> Float64s:
        """The log vector that a client predicts with: the shared one, perhaps with its own noise."""
        params = self.log_params.copy()
        if self._method.personal_noise:
            seen = self.run.memories.gather(np.array([self.known_client(client)]))[0]
            params[self._method.kernel.noise] = float(np.asarray(seen["noise"])[0])
        return params

    def adapt(self, x: Any, y: Any) -> ClientProcess:
        """The process of a client that took no part, from its rows alone: nothing is trained."""
        self._fitted()
        inputs, outputs = self._scaled.inputs, np.asarray(y, np.float64).reshape(-1)
        rows = inputs.scaled(x)
        if len(rows) != len(outputs) or not np.isfinite(outputs).all():
            raise ConfigError(f"{len(rows)} rows of inputs need as many outputs, all of them numbers.")
        own = OutputScaling.of(outputs) if self.standardize else OutputScaling(0.0, 1.0)
        return self._process(rows, own.scaled(outputs), own, self.log_params)

    def predict(
        self,
        new: Any,
        client: str | int | None = None,
        return_std: bool = False,
        interval: float | None = None,
        noisy: bool = True,
    ) -> Any:
        """A client's prediction in its own units, one value per new row; NaN where an input is missing.

        Args:
            new: New rows: a table, if a formula was fitted, or an array of inputs.
            client: Whose rows they are, by name or number.
            return_std: Whether the standard deviation is returned, too.
            interval: The level of an interval, which is returned last; None for none.
            noisy: Whether uncertainty is that of new observations; otherwise, of the function itself.
        """
        self.check_predicts(return_std, interval)
        return self.forecast(new, self.client_number(client), noisy).answer(return_std, interval)

    def forecast(self, new: Any, client: int | None, noisy: bool = True) -> Forecast:
        """A client's observations at new rows, or the function itself."""
        if client is None:
            raise self.refusal("newcomer")
        process, x = self.client(client), self.inputs_of(new)
        known: Bools = np.asarray(np.isfinite(x).all(axis=1))
        return process.forecast(x[known], noisy).at(known)

    def figures(self) -> dict[str, Figure]:
        if not self.fitted_to.design.is_here:
            return {}
        from ..figures.gaussian_process import prediction_bands

        return {"Predictions": prediction_bands(self)}

    def accuracy(self, part: str = "test", level: float = 0.95) -> dict[str, Accuracy]:
        """Error and coverage on every client's rows of a part, in its own units."""
        found = {}
        for name in self.clients:
            x, y = self.rows(name, part)
            if len(y):
                found[name] = accuracy_of(self.client(name), x, y, level)
        return found

    def rows(self, client: str | int, part: str = "train") -> tuple[Float64s, Float64s]:
        """A client's rows of a part, in its own units."""
        if part not in PARTS:
            raise unknown("part", part, PARTS)
        i, scaled = self.known_client(client), self._scaled
        x, y = getattr(scaled.design.federation, part).client(i)
        own, inputs = scaled.outputs[i], scaled.inputs
        return x * inputs.span + inputs.low, y * own.sd + own.mean

    def client_losses(self) -> list[tuple[str, int, float, float]]:
        """Name, rows, and the loss per row of every client before and after training."""
        start, losses = self._fitted()._method.start_vector(), []
        for i, name in enumerate(self.clients):
            x, y = self._scaled.design.client(i)
            before, after = (
                Posterior(self._method.kernel, params, x, y, most_rows=self.most_rows).loss() / max(len(y), 1)
                for params in (start, self.client_params(i))
            )
            losses.append((name, len(y), before, after))
        return losses

    def summary(self, level: float = 0.95) -> Summary:
        """Hyper-parameters as standard deviations and variances, clients' losses, and what was sent."""
        losses = self.client_losses() if self._fitted()._scaled.design.is_here else []
        return summarize(self._method, self.log_params, self._scaled, losses, self.run, self.most_rows)

    def _process(self, x: Float64s, y: Float64s, own: OutputScaling, params: Float64s) -> ClientProcess:
        posterior = Posterior(self._method.kernel, params, x, y, self.conditioning, self.most_rows)
        return ClientProcess(posterior, self._scaled.inputs, own)

    def inputs_of(self, new: Any) -> Float64s:
        """New rows in the units that they came in, without the column of ones of a formula."""
        plan = self.given.plan
        if plan is None or not (isinstance(new, Table | Mapping) or hasattr(new, "columns")):
            return flat_features(np.asarray(new, np.float64))
        return self.given.rows(new)[:, [j for j, term in enumerate(plan.terms) if term != INTERCEPT]]

    def _fitted(self) -> Self:
        if not hasattr(self, "_run"):
            raise ConfigError(f"{type(self).__name__} has not seen any data; call fit first.")
        return self
