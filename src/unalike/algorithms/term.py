"""TERM: clients are weighted by the exponential of their loss (Li, Beirami, Sanjabi, Smith, Tilted Empirical
Risk Minimization, 2021), here tilted between clients.

    minimize  (1/t) log( sum_k p_k exp(t F_k(w)) )
    client:   w_k <- descend from w;             sends  w_k  with the weight  exp(t (F_k(w) - level))
    server:   tilt  <-  (1 - s) + s mean of these weights,     level <- level + log(tilt) / t
              w     <-  w + sum_k p_k weight_k (w_k - w) / tilt

The level is the tilted loss itself, followed over rounds by a share s = `smoothing` of what is new; the first
round counts alone. With t = 0 it is FedAvg.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp

from ..core.pytrees import scale
from ..data.federation import Federation
from ..errors import ConfigError
from ..models import Task
from ..typing import Memory, Message, Predictor, State, Upload
from .base import Aggregate, Algorithm, Reply, algorithm_registry
from .fedavg import FedAvg
from .shared.client_data import ClientData
from .shared.last_losses import mean_loss, traffic_with_numbers, uninformed_loss
from .shared.local_sgd import local_sgd
from .shared.newcomers import require_not_negative

STEEPEST = 60.0
"""The logarithm of a weight, beyond which single precision has no numbers."""


@algorithm_registry.add("term")
@dataclass(frozen=True, kw_only=True)
class Term(FedAvg):
    """Large losses count more, by their exponential (Li et al., 2021)."""

    t: float = 1.0
    """0 for FedAvg; the larger, the closer to the worst client's loss alone."""
    smoothing: float = 0.5
    """How much of the tilt is that of the newest round."""
    training_loss: bool = False
    """Whether clients report the mean loss that their training saw on its way, which costs nothing, in place
    of the published one, for which they look at all rows once more."""
    initial_loss: float = 0.0
    """Where the level starts; found when training starts."""

    name: ClassVar[str] = "term"
    takes_state: ClassVar[bool] = False
    grid: ClassVar = {"t": (1.0, 2.0, 5.0)}

    def __post_init__(self) -> None:
        require_not_negative(t=self.t)
        if not 0 < self.smoothing <= 1:
            raise ConfigError(f"smoothing must be above 0 and at most 1, but is {self.smoothing}.")

    @property
    def equals_local_training(self) -> bool:
        return super().equals_local_training and self.t == 0

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        return replace(self, initial_loss=uninformed_loss(task, federation))

    def init(self, task: Task, key: jax.Array) -> State:
        return State(
            {**super().init(task, key), "level": jnp.asarray(self.initial_loss), "begun": jnp.zeros(())}
        )

    def broadcast(self, task: Task, state: State) -> Message:
        return Message({"params": state["params"], "level": state["level"]})

    def traffic(self, message: Message, upload: Upload) -> tuple[int, int]:
        return traffic_with_numbers(message["params"], 1, 1)

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        trained = local_sgd(task, message["params"], data, self.optimizer)
        loss = trained.loss if self.training_loss else mean_loss(task, message["params"], data)
        weight = jnp.exp(jnp.clip(self.t * (loss - message["level"]), -STEEPEST, STEEPEST))
        upload = {"params": trained.params, "share": 1.0 / weight}
        return Reply(Upload(upload), memory, {"train_loss": trained.loss}, weight)

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        assert mixed.start is not None
        seen = mixed.weight / jnp.maximum(mixed.total["share"], 1e-30)
        part = jnp.where(state["begun"] > 0, self.smoothing, 1.0)
        tilt = 1.0 + part * (seen - 1.0)
        moved, start = (scale(1.0 / tilt, tree["params"]) for tree in (mixed.total, mixed.start))
        stepped = self.server_step(state, moved, start, mixed.round)
        level = state["level"] + (jnp.log(tilt) / self.t if self.t else 0.0)
        return State({**stepped, "level": level, "begun": jnp.ones(())})

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return message["params"]
