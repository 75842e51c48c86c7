"""FGPR: clients descend on their own marginal likelihoods, the server averages hyper-parameters (Yue and
Kontar, Federated Gaussian Process: Convergence, Automatic Personalization and Multi-fidelity Modeling, 2024).

    client k:   repeat E times:   u <- clip(u - rate * gradient L_k(u; M of its rows) / M)     sends  u_k
    server:     u <- sum_k p_k u_k,                                  p_k = rows of k / rows of all
    predict:    k(x, X_k) C(X_k)^-1 y_k                              with the client's own rows

u is the log vector of :mod:`.kernels`, by default: clients descend on logarithms, and the server's average is
a geometric mean (lengths 0.1 and 1 give 0.32). With `parametrization="natural"` u are the hyper-parameters
themselves (standard deviations and lengths, whose average is 0.55), as published, and as the theorems have
it. Logarithms are the default because a step of one size suits hyper-parameters of all sizes, and none
becomes negative; `scaling="theory"`, which is about the theorems, implies the natural ones. Only u travels.

Because the shared prior is conditioned on a client's own rows, every client has a model of its own without
training one, and a client that joins late predicts at once. Gradients of some of the rows are biased for all
of them (rows are correlated), the less so the larger M; the optimizer's moments stay with the client from
round to round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...algorithms import Aggregate, Algorithm, LocalWork, Reply
from ...algorithms.needs import Needs
from ...algorithms.shared.client_data import ClientData
from ...algorithms.shared.optimizer_steps import OptimizerState, OptimizerSteps
from ...algorithms.shared.optimizers import Optimizer
from ...core.pytrees import where
from ...data import Federation
from ...errors import ConfigError, DataError, unknown
from ...models import Model, Task
from ...models.losses import squared_error
from ...models.metrics import metrics_for
from ...typing import Event, Int64s, Memory, Message, Predictor, State, Upload
from ..serialization import shareable
from .kernels import Kernel
from .likelihood import Likelihood, factorize, negative_log_likelihood

SCALINGS = ("rows", "theory", "none")
PARAMETRIZATIONS = ("log", "natural")
CONDITIONED_WHILE_TRAINING = 2000
"""Rows of a client that evaluations during training condition on, at most: they take the cube of it."""


def _nothing(*_: Any) -> jax.Array:
    return jnp.zeros(())


PROCESS_TASK = Task(Model(_nothing, _nothing), squared_error, metrics_for(None), outputs="values")
"""Judged by its squared error; the algorithm itself begins and predicts. One object, so that programs are
compiled once for many fits."""


class _Scaling(NamedTuple):
    """The units of a client's outputs."""

    mean: jax.Array
    sd: jax.Array

    def scaled(self, y: jax.Array) -> jax.Array:
        """Outputs in these units."""
        return (y - self.mean) / self.sd


class _Walk(NamedTuple):
    """A client on its way: where it is, what it has seen, how many steps it refused."""

    point: OptimizerState
    loss: jax.Array
    refused: jax.Array


@shareable
@dataclass(frozen=True, kw_only=True)
class FGPR(Algorithm):
    """Averages the hyper-parameters of clients' Gaussian processes (Yue and Kontar, 2024).

    :class:`.GaussianProcess` runs it with one thread of linear algebra per core; whoever trains it otherwise
    should, too (`threadpoolctl.threadpool_limits(1, "blas")`): it is many times faster for small factors.
    """

    kernel: Kernel = field(default_factory=Kernel)
    start: tuple[float, ...] = (1.0, 0.1, 0.5)
    """Signal, noise and length before the first round, or the whole vector (not its logarithm)."""
    local_steps: int = 5
    batch_size: int = 32
    """Rows of a step, drawn without replacement; 0 for all."""
    optimizer: Optimizer = field(default_factory=lambda: Optimizer("adam", 0.02))
    bounds: tuple[float, float] = (1e-3, 1e2)
    clip: float = 10.0
    """The largest component of a gradient (after scaling)."""
    scaling: str = "rows"
    """What gradients are divided by: `rows` (M), `theory` (log M for signals, else M), or `none`."""
    parametrization: str | None = None
    """What is descended on and averaged: the `log` of hyper-parameters, or the `natural` ones, as published.
    None is log, and natural where the scaling is that of the theory."""
    personal_noise: bool = False
    """Whether each client keeps its noise to itself: for sensors that differ. An extension of the method."""
    standardize: bool = False
    """Whether each client centers and scales its outputs while it computes; predictions are in its units."""
    work: LocalWork = field(default_factory=lambda: LocalWork(steps=0))

    name: ClassVar[str] = "fgpr"
    personalized: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs(float64=True, rows_to_predict=True)

    def __post_init__(self) -> None:
        if len(self.start) not in (3, self.kernel.size):
            raise ConfigError(
                f"start must be signal, noise and length, or all {self.kernel.size} hyper-parameters of the "
                f"kernel, but has {len(self.start)} numbers."
            )
        if not all(math.isfinite(value) and value > 0 for value in self.start):
            raise ConfigError("hyper-parameters to start from must be positive.")
        if not 0 < self.bounds[0] < self.bounds[1]:
            raise ConfigError(f"bounds must be positive and in order, but are {self.bounds}.")
        if self.local_steps < 0 or self.batch_size < 0:
            raise ConfigError("local_steps and batch_size must not be negative.")
        if not self.clip > 0:
            raise ConfigError(f"clip must be positive, but is {self.clip}.")
        if self.scaling not in SCALINGS:
            raise unknown("scaling of gradients", self.scaling, SCALINGS)
        if self.parametrization not in (None, *PARAMETRIZATIONS):
            raise unknown("parametrization", str(self.parametrization), PARAMETRIZATIONS)
        if self.scaling == "theory" and self.parametrization == "log":
            raise ConfigError(
                "scaling = 'theory' is of gradients by the hyper-parameters themselves; leave out "
                "parametrization = 'log', or choose another scaling."
            )

    @property
    def natural(self) -> bool:
        """Whether clients descend on hyper-parameters themselves."""
        return self.parametrization == "natural" or (
            self.parametrization is None and self.scaling == "theory"
        )

    def _travels(self, log: jax.Array) -> jax.Array:
        """A log vector as it is descended on and averaged."""
        return jnp.exp(log) if self.natural else log

    def _log(self, vector: jax.Array) -> jax.Array:
        """The inverse of :meth:`_travels`; no hyper-parameter is below the least that is allowed."""
        return jnp.log(jnp.maximum(vector, self.bounds[0])) if self.natural else vector

    def broadcast(self, task: Task, state: State) -> Message:
        return Message(self._travels(state["params"]))

    def start_vector(self) -> np.ndarray:
        """Where the walk begins, as a log vector within bounds."""
        whole = len(self.start) == self.kernel.size and self.kernel.size != 3
        log = np.log(np.array(self.start)) if whole else self.kernel.vector(*self.start)
        return np.clip(log, *np.log(self.bounds))

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        if federation.input_shape != (self.kernel.inputs,):
            raise DataError(
                f"the kernel has {self.kernel.inputs} inputs, but rows have shape {federation.input_shape}."
            )
        return self

    def init(self, task: Task, key: jax.Array) -> State:
        return State({"params": jnp.asarray(self.start_vector())})

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        return Memory(
            {
                "optimizer": OptimizerSteps(self.optimizer, 0).start(message).memory,
                "noise": self._log(cast(jax.Array, message))[self.kernel.noise],
                "refused": jnp.zeros((), jnp.int32),
            }
        )

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        descent = OptimizerSteps(self.optimizer, data.round)
        x, y, real = _all_rows(data)
        y = self._scaling(y, real).scaled(y)
        low, high = self._travels(jnp.log(jnp.asarray(self.bounds)))

        def step(s: int | jax.Array, walk: _Walk) -> _Walk:
            chosen = self._draw(jax.random.fold_in(key, s), real)
            some = x[chosen], y[chosen], real[chosen]
            found = negative_log_likelihood(self.kernel, self._log(walk.point.params), *some)
            rows = jnp.maximum(some[2].sum(), 1.0)
            if self.natural:  # the derivative by theta is that by log theta, over theta
                found = found._replace(gradient=found.gradient / walk.point.params)
            moved = descent.step(walk.point, self._scaled(found, rows))
            moved = moved._replace(params=jnp.clip(moved.params, low, high))
            point = where(found.found, moved, walk.point)
            return _Walk(point, walk.loss + found.loss / rows, walk.refused + ~found.found)

        begin = OptimizerState(self._own(message, memory), memory["optimizer"])
        zero = jnp.zeros((), cast(jax.Array, message).dtype)
        end = lax.fori_loop(0, self.local_steps, step, _Walk(begin, zero, jnp.zeros((), jnp.int32)))
        kept = {
            "optimizer": end.point.memory,
            "noise": self._log(end.point.params)[self.kernel.noise],
            "refused": memory["refused"] + end.refused,
        }
        report = {"train_loss": end.loss / max(self.local_steps, 1), "refused_steps": end.refused}
        return Reply(Upload(self._shared(end.point.params)), Memory(kept), report)

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        assert mixed.start is not None
        before = self._travels(state["params"])
        # In this order single weights' rounding touches only what changed, not the vector itself.
        after = self._shared(before) + (mixed.total - self._shared(mixed.start))
        if self.personal_noise:
            at = self.kernel.noise
            after = jnp.concatenate([after[:at], before[at : at + 1], after[at:]])
        return State({**state, "params": self._log(after)})

    def notices(self, memories: Memory, rows: Int64s) -> list[Event]:
        refused = np.flatnonzero(np.asarray(memories["refused"]))
        found = [{"kind": "covariance without a factor", "client": int(i)} for i in refused]
        return found + [{"kind": "one row", "client": int(i)} for i in np.flatnonzero(rows == 1)]

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        params = self._log(self._own(message, memory))
        x, y, real = (part[:CONDITIONED_WHILE_TRAINING] for part in _all_rows(data))
        own = self._scaling(y, real)
        smooth = self.kernel.covariance(params, x, x) * real[:, None] * real[None, :]
        diagonal = jnp.exp(2 * params[self.kernel.noise]) * real + (1 - real)
        factor, _ = factorize(smooth, diagonal, self.kernel.signal_variance(params) * real)
        weights = jax.scipy.linalg.cho_solve((factor, True), own.scaled(y) * real)
        weights = jnp.where(jnp.isfinite(weights), weights, 0.0)
        return {"params": params, "x": x, "weights": weights, **own._asdict()}

    def predict(self, task: Task, predictor: Predictor, x: jax.Array) -> jax.Array:
        mean = self.kernel.covariance(predictor["params"], x, predictor["x"]) @ predictor["weights"]
        return predictor["mean"] + predictor["sd"] * mean

    def _scaling(self, y: jax.Array, real: jax.Array) -> _Scaling:
        """In which units a client's outputs are while it computes."""
        if not self.standardize:
            return _Scaling(jnp.zeros((), y.dtype), jnp.ones((), y.dtype))
        rows = jnp.maximum(real.sum(), 1.0)
        mean = (y * real).sum() / rows
        sd = jnp.sqrt((real * (y - mean) ** 2).sum() / rows)
        return _Scaling(mean, jnp.where(sd > 0, sd, 1.0))

    def _draw(self, key: jax.Array, real: jax.Array) -> jax.Array:
        """Places of the rows of a step: a random subset, real rows first."""
        if not 0 < self.batch_size < len(real):
            return jnp.arange(len(real))
        noise = jnp.where(real > 0, jax.random.uniform(key, real.shape), -1.0)
        return lax.top_k(noise, self.batch_size)[1]

    def _scaled(self, found: Likelihood, rows: jax.Array) -> jax.Array:
        """The gradient over what the scaling says, and no component larger than the clip."""
        divisor = jnp.ones(self.kernel.size) if self.scaling == "none" else jnp.full(self.kernel.size, rows)
        if self.scaling == "theory":
            divisor = divisor.at[: self.kernel.noise].set(jnp.log(jnp.maximum(rows, math.e)))
        return jnp.clip(found.gradient / divisor, -self.clip, self.clip)

    def _own(self, message: Message, memory: Memory) -> jax.Array:
        """The vector that a client starts from: the server's, perhaps with its own noise."""
        if not self.personal_noise:
            return cast(jax.Array, message)
        return cast(jax.Array, message).at[self.kernel.noise].set(self._travels(memory["noise"]))

    def _shared(self, params: jax.Array) -> jax.Array:
        """What of a vector travels."""
        return jnp.delete(params, self.kernel.noise) if self.personal_noise else params


def _all_rows(data: ClientData) -> tuple[jax.Array, jax.Array, jax.Array]:
    """A client's rows, targets, and which of them are real."""
    rows = data.all_rows()
    return rows.x, rows.y, rows.weight.astype(rows.x.dtype)
