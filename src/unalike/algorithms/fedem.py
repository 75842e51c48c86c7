"""FedEM: every client's data are a mixture of a few distributions, the same for all clients (Marfoq, Neglia,
Bellet, Kameni, Vidal, Federated Multi-Task Learning under a Mixture of Distributions, 2021).

    client t:   q[i, m]   <-  weight_tm exp(-loss(theta_m; i)) / sum_m' ...           for all its rows i
                weight_tm <-  mean_i q[i, m]                                          stays with the client
                theta_tm  <-  descend from theta_m on  mean_i q[i, m] loss(.; i);     sends all theta_tm
    server:     theta_m   <-  sum_t importance_t theta_tm
    predict:    h_t(x)    =   sum_m weight_tm h(x; theta_m)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..data.federation import Federation
from ..errors import ConfigError
from ..models import Task
from ..typing import Event, Int64s, Memory, Message, Params, Predictor, PyTree, State
from .base import Algorithm, Reply, algorithm_registry
from .fedavg import FedAvg
from .needs import Needs
from .shared.client_data import ClientData
from .shared.local_sgd import local_sgd
from .shared.mixture import (
    component_losses,
    mean_posterior,
    mixture_task,
    negative_log_likelihood,
    per_component,
    posterior,
    unlike_starts,
    weighted_mean,
)
from .shared.optimizers import Optimizer
from .shared.solvers import make_solver, solve_component


@algorithm_registry.add("fedem")
@dataclass(frozen=True, kw_only=True)
class FedEM(FedAvg):
    """A mixture of models that everyone shares, with mixture weights of each client's own (Marfoq et al.,
    2021)."""

    components: int = 3
    em_steps: int = 20
    """How often a client that joins after training refines its mixture weights."""
    refresh: int = 0
    """The same for clients that took part, before they predict with the newest components."""
    temperature: float = 1.0
    """Divides the losses in the E-step, for losses that are not negative log-likelihoods."""
    smoothing: float = 0.0
    """Rows of every component that each client pretends to have."""
    solver: str = "sgd"
    """Who does the local work on each component: sgd, or lbfgs, newton, gradient-descent over all rows; with
    "newton|sgd", clients take turns. Answers that are worse than their start are refused."""
    hard: bool = False
    """Whether a client belongs to its likeliest component alone: clustering."""

    name: ClassVar[str] = "fedem"
    takes_state: ClassVar[bool] = False
    personalized: ClassVar[bool] = True
    grid: ClassVar = {"components": (2, 3, 4)}

    def __post_init__(self) -> None:
        if self.components < 1:
            raise ConfigError(f"components must be at least 1, but is {self.components}.")
        if min(self.em_steps, self.refresh, self.smoothing) < 0:
            raise ConfigError("em_steps, refresh and smoothing must not be negative.")
        for kind in self.solver.split("|"):
            make_solver(kind)
        if not self.temperature > 0:
            raise ConfigError(f"temperature must be positive, but is {self.temperature}.")

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        if self.components > len(federation):
            raise ConfigError(
                f"{self.components} components need as many clients, but there are {len(federation)}."
            )
        task.kind()  # refuses here, not after the first round
        return self

    @property
    def equals_local_training(self) -> bool:
        return super().equals_local_training and self.components == 1

    def init(self, task: Task, key: jax.Array) -> State:
        params = unlike_starts(task, self.components, key)
        return State({"params": params, "server": self.server_optimizer.build().init(params)})

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        return Memory({"weights": jnp.full(self.components, 1.0 / self.components)})

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        losses, rows = self._losses(task, message, data), data.row_weights()
        chances = self._chances(losses, memory["weights"], rows)
        weights = mean_posterior(posterior(losses, memory["weights"], self.temperature), rows, self.smoothing)
        trained, told = self._maximized(task, message, data.weighted(chances * rows[:, None]))
        likelihood = weighted_mean(negative_log_likelihood(losses, memory["weights"]), rows)
        shares = {f"component_{m + 1}": weights[m] for m in range(self.components)}
        return Reply(trained, Memory({"weights": weights}), {"train_loss": likelihood, **shares, **told})

    def notices(self, memories: Memory, rows: Int64s) -> list[Event]:
        used = rows @ memories["weights"]
        dead = np.flatnonzero(used < 1)
        return [{"kind": "dead component", "component": int(m) + 1, "rows": float(used[m])} for m in dead]

    def newcomer(self, task: Task, message: Message, data: ClientData, key: jax.Array) -> Memory:
        return self._fitted(task, message, self.init_client(task, message, key), data, self.em_steps)

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        return Needs(rows_to_predict=self.refresh > 0)

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        weights = self._fitted(task, message, memory, data, self.refresh)["weights"]
        return {"components": message, "weights": self._used(weights)}

    def predict(self, task: Task, predictor: Predictor, x: jax.Array) -> jax.Array:
        outputs = jnp.stack([task.apply(params, x) for params in predictor["components"]])
        return task.mixture(outputs, predictor["weights"])

    def _maximized(self, task: Task, start: Params, data: ClientData) -> tuple[PyTree, dict[str, jax.Array]]:
        """All components after local work on rows weighted by their chances."""
        if self.solver == "sgd":
            joint = mixture_task(task, self.components)
            return local_sgd(joint, start, data, per_component(self.optimizer)).params, {}
        kinds = [f"guarded:{kind}" for kind in self.solver.split("|")]
        chances = data.own_weights
        assert chances is not None
        found = [
            _by_turns(kinds, task, params, data.weighted(chances[:, m]), self.optimizer)
            for m, params in enumerate(start)
        ]
        refused = jnp.stack([report["refused"] for _, report in found])
        return [params for params, _ in found], {"refused_components": refused.sum()}

    def _losses(self, task: Task, message: Message, data: ClientData) -> jax.Array:
        return data.per_row(partial(component_losses, task, message))

    def _chances(self, losses: jax.Array, weights: jax.Array, rows: jax.Array) -> jax.Array:
        """Every component's chance for every row; the same for all rows of a client with one component."""
        chances = posterior(losses, weights, self.temperature)
        if not self.hard:
            return chances
        return jnp.broadcast_to(self._used(mean_posterior(chances, rows)), chances.shape)

    def _used(self, weights: jax.Array) -> jax.Array:
        return jax.nn.one_hot(jnp.argmax(weights), self.components) if self.hard else weights

    def _fitted(self, task: Task, message: Message, memory: Memory, data: ClientData, steps: int) -> PyTree:
        """The memory after some EM steps on the mixture weights alone."""
        if not steps:
            return memory
        losses, rows = self._losses(task, message, data), data.row_weights()

        def step(_: int, weights: jax.Array) -> jax.Array:
            return mean_posterior(posterior(losses, weights, self.temperature), rows, self.smoothing)

        return {"weights": lax.fori_loop(0, steps, step, memory["weights"])}


def _by_turns(
    kinds: list[str], task: Task, start: Params, data: ClientData, optimizer: Optimizer
) -> tuple[PyTree, dict[str, jax.Array]]:
    """The answer of the solver whose turn it is with this client."""
    ways = [partial(solve_component, task, start, data, optimizer, kind) for kind in kinds]
    return lax.switch(data.client % len(ways), ways) if len(ways) > 1 else ways[0]()
