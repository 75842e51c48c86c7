"""q-FFL: losses are raised to a power, so that large ones count more (Li, Sanjabi, Beirami, Smith, Fair
Resource Allocation in Federated Learning, 2020; the method is called q-FedAvg there).

    minimize  sum_k p_k F_k(w)^(q+1) / (q+1)
    client:   g_k = w - w_k,  w_k descended from w;     D_k = F_k^q g_k / eta
                                                        h_k = q F_k^(q-1) |g_k / eta|^2 + F_k^q / eta
    server:   w  <-  w - sum_k p_k D_k / sum_k p_k h_k

F_k is the loss of w, before training, and 1/eta stands for the smoothness of the losses. With q = 0 it is
FedAvg. Clients weigh F_k^q relative to the level of losses, which cancels in the quotient; the weights that
samplers and timings give stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from ..core.pytrees import scale, squared_norm, subtract
from ..data.federation import Federation
from ..errors import ConfigError
from ..models import Task
from ..typing import Memory, Message, Predictor, State, Upload
from .base import Aggregate, Algorithm, Reply, algorithm_registry
from .fedavg import FedAvg
from .shared.client_data import ClientData
from .shared.last_losses import mean_loss, traffic_with_numbers
from .shared.local_sgd import local_sgd
from .shared.newcomers import require_not_negative

SMALLEST = 1e-10
"""Added to losses, so that they have logarithms."""
STEEPEST = 60.0
"""The logarithm of a weight, beyond which single precision has no numbers."""
LOOKED_AT = 256


@algorithm_registry.add("q-ffl")
@dataclass(frozen=True, kw_only=True)
class QFFL(FedAvg):
    """Large losses count more, by their power q (Li et al., 2020)."""

    q: float = 1.0
    """0 for FedAvg; the larger, the closer to the worst client's loss alone."""
    lipschitz: float | None = None
    """The smoothness of the losses, in place of one over the learning rate."""
    training_loss: bool = False
    """Whether clients report the mean loss that their training saw on its way, which costs nothing, in place
    of the published one, for which they look at all rows once more."""

    name: ClassVar[str] = "q-ffl"
    takes_state: ClassVar[bool] = False
    grid: ClassVar = {"q": (0.0, 0.001, 0.01, 0.1, 1.0, 2.0, 5.0, 10.0)}

    def __post_init__(self) -> None:
        require_not_negative(q=self.q)
        if self.lipschitz is not None and not self.lipschitz > 0:
            raise ConfigError(f"lipschitz must be positive, but is {self.lipschitz}.")

    @property
    def equals_local_training(self) -> bool:
        return super().equals_local_training and self.q == 0

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        check_not_negative(task, federation)
        return self

    def init(self, task: Task, key: jax.Array) -> State:
        return State({**super().init(task, key), "level": jnp.ones(())})

    def broadcast(self, task: Task, state: State) -> Message:
        return Message({"params": state["params"], "level": state["level"]})

    def traffic(self, message: Message, upload: Upload) -> tuple[int, int]:
        return traffic_with_numbers(message["params"], 1, 2)

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        trained = local_sgd(task, message["params"], data, self.optimizer)
        loss = trained.loss if self.training_loss else mean_loss(task, message["params"], data)
        loss = loss + SMALLEST
        power = self.q * (jnp.log(loss) - jnp.log(message["level"]))
        weight = jnp.exp(jnp.clip(power, -STEEPEST, STEEPEST))
        distance = squared_norm(subtract(message["params"], trained.params))
        rate = 1 / self.lipschitz if self.lipschitz else self._rate(data)
        told = {
            "share": 1.0 / weight,
            "loss": loss / weight,
            "curvature": relative_curvature(self.q, loss, distance, rate),
        }
        return Reply(Upload({"params": trained.params, **told}), memory, {"train_loss": trained.loss}, weight)

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        assert mixed.start is not None
        total, usual = mixed.total, jnp.maximum(mixed.total["share"], 1e-30)
        shorter = usual / jnp.maximum(total["curvature"], 1e-30)
        moved, start = (scale(shorter, tree["params"]) for tree in (total, mixed.start))
        stepped = self.server_step(state, moved, start, mixed.round)
        return State({**stepped, "level": jnp.maximum(total["loss"] / usual, SMALLEST)})

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return message["params"]

    def _rate(self, data: ClientData) -> Any:
        return jnp.maximum(self.optimizer.learning_rate * self.optimizer.factor(data.round), 1e-30)


def relative_curvature(q: float, loss: Any, squared_distance: Any, rate: Any) -> Any:
    """eta h_k / F_k^q: one, and more the further the client has moved.

    >>> relative_curvature(2.0, 0.5, 0.01, 0.1)
    1.4
    """
    return 1.0 + q * squared_distance / (rate * loss)


def check_not_negative(task: Task, federation: Federation) -> None:
    """Refuse a loss that is negative on the first rows: it has no powers."""
    x, y = federation.train.x[:LOOKED_AT], federation.train.y[:LOOKED_AT]
    if len(y) == 0:
        return
    least = float(jnp.min(task.losses(task.init(jax.random.key(0)), jnp.asarray(x), jnp.asarray(y))))
    if least < 0:
        raise ConfigError(
            f"q-ffl takes powers of losses, but this task's loss can be negative ({least:.3g}); choose a "
            "loss that cannot, or gifair or term, which only compare losses."
        )
