"""Averaged iterates and projection: the server returns the last model or the mean of all.

    w(t+1) = Pi(w(t) + sum_i weight_i (w_i - v_i)),        handed out:  sum_t q(t) w(t)  /  sum_t q(t)

(Marfoq, Neglia, Kameni and Vidal, "Federated Learning for Data Streams", 2023, algorithm 1): w(t) is the
model before round t, Pi the projection on the ball of some radius around zero, and

    q(t) = W(t) / sum_s W(s),      W(t) = sum_m sum_{j in I_m(t)} lambda_m(t, j)

what the rows of the round weigh among those of all rounds. Without a stream, or with one that does not weigh
rows, all rounds count alike. Where the weights of a round's cohort do not sum to one, q(t) is multiplied by
their sum. Rounds in which nothing was accepted count nothing. The mean is a running one, so that nothing
grows with the number of rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from ..core.pytrees import add_scaled, nbytes, scale, squared_norm, subtract
from ..errors import ConfigError
from ..models import Task
from ..typing import Memory, Message, Params, Predictor, State, Upload
from .base import Aggregate, Reply, algorithm_registry
from .fedavg import FedAvg
from .needs import Needs
from .shared.client_data import ClientData


@algorithm_registry.add("fedavg-averaged")
@dataclass(frozen=True, kw_only=True)
class FedAvgAveraged(FedAvg):
    """FedAvg that predicts with the mean of its models, and keeps them in a ball (Marfoq et al., 2023)."""

    average: bool = True
    """Whether clients predict with the mean of all models; otherwise with the last one. Both are kept."""
    radius: float = 0.0
    """The model's largest distance from zero; 0 for any."""

    name: ClassVar[str] = "fedavg-averaged"
    takes_state: ClassVar[bool] = False
    needs: ClassVar[Needs] = Needs(round_weights=True)

    def __post_init__(self) -> None:
        if not self.radius >= 0:
            raise ConfigError(f"radius must be positive, or 0 for none, but is {self.radius}.")

    @property
    def equals_local_training(self) -> bool:
        return False

    def init(self, task: Task, key: jax.Array) -> State:
        state = super().init(task, key)
        params = project(state["params"], self.radius)
        return State(
            {
                **state,
                "params": params,
                "average": params,
                "counted": jnp.zeros(()),
                "rows_weigh": jnp.ones(()),
            }
        )

    def weigh_round(self, state: State, weight: float) -> State:
        return State({**state, "rows_weigh": jnp.full_like(state["rows_weigh"], weight)})

    def broadcast(self, task: Task, state: State) -> Message:
        return Message({"params": state["params"], "average": state["average"]})

    def traffic(self, message: Message, upload: Upload) -> tuple[int, int]:
        # The mean goes down once, when training has ended.
        return nbytes(message["params"]), nbytes(upload)

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        return super().client(task, message["params"], memory, data, key)

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        assert mixed.start is not None
        stepped = self.server_step(state, mixed.total, mixed.start["params"], mixed.round)
        weight = mixed.weight * state["rows_weigh"]
        counted = state["counted"] + weight
        part = weight / jnp.where(counted > 0, counted, 1.0)
        average = add_scaled(state["average"], part, subtract(state["params"], state["average"]))
        params = project(stepped["params"], self.radius)
        return State({**stepped, "params": params, "average": average, "counted": counted})

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return message["average" if self.average else "params"]


def project(params: Params, radius: float) -> Params:
    """The nearest model at most `radius` away from zero; the model itself where the radius is 0.

    >>> [round(float(w), 3) for w in project({"w": jnp.array([3.0, 4.0])}, 1.0)["w"]]
    [0.6, 0.8]
    """
    if radius == 0:
        return params
    length = jnp.sqrt(squared_norm(params))
    return scale(jnp.minimum(1.0, radius / jnp.maximum(length, 1e-30)), params)
