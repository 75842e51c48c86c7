"""IFCA: clients choose, round by round, which of a few models suits them (Ghosh, Chung, Yin, Ramchandran, An
Efficient Framework for Clustered Federated Learning, 2020).

    client t:   j_t     <-  argmin_j  loss_t(theta_j)
                theta_t <-  descend from theta_{j_t};      sends its change and j_t
    server:     theta_j <-  theta_j + the weighted mean of  theta_t - theta_j  over the clients that chose j
    predict:    with the model of least loss on its own training rows

A client that joins later chooses in the same way, so there is nothing to remember.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp

from ..core import pytrees
from ..core.pytrees import nbytes
from ..data.federation import Federation
from ..errors import ConfigError
from ..models import Task
from ..typing import Memory, Message, Predictor, State, Upload
from .base import Aggregate, Algorithm, Reply, algorithm_registry
from .needs import Needs
from .shared.client_data import ClientData
from .shared.local_sgd import local_sgd
from .shared.mixture import component_losses, unlike_starts
from .shared.optimizers import Optimizer


@algorithm_registry.add("ifca")
@dataclass(frozen=True, kw_only=True)
class IFCA(Algorithm):
    """A few models, of which every client trains the one that fits it best (Ghosh et al., 2020)."""

    clusters: int = 3
    optimizer: Optimizer = field(default_factory=Optimizer)

    name: ClassVar[str] = "ifca"
    personalized: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs(rows_to_predict=True)
    grid: ClassVar = {"clusters": (2, 3, 4)}

    def __post_init__(self) -> None:
        if self.clusters < 1:
            raise ConfigError(f"clusters must be at least 1, but is {self.clusters}.")

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        if self.clusters > len(federation):
            raise ConfigError(f"{self.clusters} clusters need as many clients, not {len(federation)}.")
        return self

    def traffic(self, message: Message, upload: Upload) -> tuple[int, int]:
        """All models come down, one goes up with its number."""
        return nbytes(message), nbytes(message) // self.clusters + 4

    def init(self, task: Task, key: jax.Array) -> State:
        return State({"params": pytrees.stack(unlike_starts(task, self.clusters, key))})

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        chosen = self.best(task, message, data)
        start = pytrees.row(message, chosen)
        trained = local_sgd(task, start, data, self.optimizer)
        change, member = pytrees.subtract(trained.params, start), jax.nn.one_hot(chosen, self.clusters)
        spread = jax.tree.map(lambda leaf: jnp.multiply.outer(member, leaf), change)
        counts = {f"cluster_{j + 1}": member[j] for j in range(self.clusters)}
        return Reply(
            Upload({"change": spread, "member": member}), memory, {"train_loss": trained.loss, **counts}
        )

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        weight = mixed.total["member"]
        share = jnp.where(weight > 0, 1.0 / jnp.where(weight > 0, weight, 1.0), 0.0)
        mean = jax.tree.map(lambda leaf: _along(share, leaf) * leaf, mixed.total["change"])
        return State({"params": pytrees.add(state["params"], mean)})

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return pytrees.row(message, self.best(task, message, data))

    def best(self, task: Task, message: Message, data: ClientData) -> jax.Array:
        """The model of least loss on all of the client's rows."""
        models = [pytrees.row(message, j) for j in range(self.clusters)]
        losses = data.per_row(partial(component_losses, task, models))
        return jnp.argmin(data.row_weights() @ losses)


def _along(values: jax.Array, leaf: jax.Array) -> jax.Array:
    return values.reshape(-1, *(1,) * (leaf.ndim - 1))
