"""L2SGD: a coin decides whether all clients take a gradient step or move towards their average (Hanzely,
Richtarik, Federated Learning of a Mixture of Global and Local Models, 2020).

    minimize     sum_i importance_i ( f_i(v_i) + lam/2 |v_i - w|^2 ),      w = sum_i importance_i v_i
    one step:    with probability p:    v_i <- v_i + pull (w - v_i)
                 otherwise:             v_i <- v_i - rate * grad f_i(v_i)
    where        pull  =  rate * lam * (1 - p) / p

so that the expected step is proportional to the gradient of the objective. Moving towards the average does
not move the average, so only a move that follows a gradient step needs to be told it. A round therefore is
one run of equal tosses of each kind: some moves towards the average that was sent, then some gradient steps,
then the new models go up. The lengths of both runs are geometric; the server draws them, so that all clients
toss alike. Gradient steps take the planned mini-batches in turn, from the first again after the last. Where
`pull` would be more than 1, the move ends at the average.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import lax

from ..core.pytrees import add_scaled, subtract
from ..errors import ConfigError
from ..models import Task
from ..typing import Memory, Message, Params, PyTree, State
from .base import Aggregate, Reply, algorithm_registry
from .needs import Needs
from .pfedme import PFedMeSimple
from .shared.client_data import ClientData
from .shared.optimizer_steps import OptimizerState, OptimizerSteps


@algorithm_registry.add("l2sgd")
@dataclass(frozen=True, kw_only=True)
class L2SGD(PFedMeSimple):
    """Personal models that take gradient steps and, by a common coin, steps to their mean (Hanzely,
    Richtarik, 2020)."""

    p: float = 0.1
    """The chance of a step towards the mean: 1/p gradient steps in a round, on average."""

    name: ClassVar[str] = "l2sgd"
    needs: ClassVar[Needs] = PFedMeSimple.needs | Needs(static_rates=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.p < 1:
            raise ConfigError(f"p must be above 0 and below 1, but is {self.p}.")

    def init(self, task: Task, key: jax.Array) -> State:
        return State({**super().init(task, key), "coin": jax.random.key_data(jax.random.fold_in(key, 1))})

    def broadcast(self, task: Task, state: State) -> Message:
        """The mean, and how often all clients move towards it and down their own slopes in this round."""
        toward, down = jax.random.split(jax.random.wrap_key_data(state["coin"]))
        moves, steps = jax.random.geometric(toward, 1.0 - self.p), jax.random.geometric(down, self.p)
        return Message(
            {
                "params": state["params"],
                "moves": moves.astype(jnp.float32),
                "steps": steps.astype(jnp.float32),
            }
        )

    @property
    def strength(self) -> float:
        """For a newcomer, whose mean does not change: no step of its descent goes further than the mean."""
        return min(self.lam, 1.0 / max(self.optimizer.learning_rate, 1e-30))

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        mean, own = message["params"], memory["params"]
        descent = OptimizerSteps(self.optimizer, data.round)
        pull = jnp.minimum(descent.rate * self.lam * (1.0 - self.p) / self.p, 1.0)
        near = add_scaled(own, 1.0 - (1.0 - pull) ** message["moves"], subtract(mean, own))
        params, loss = _steps(task, near, data, descent, message["steps"])
        return self.reply(memory, params, loss)

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        following = jax.random.fold_in(jax.random.wrap_key_data(state["coin"]), 1)
        return State({**super().aggregate(task, state, mixed), "coin": jax.random.key_data(following)})


def _steps(
    task: Task, start: Params, data: ClientData, descent: OptimizerSteps, steps: jax.Array
) -> tuple[PyTree, jax.Array]:
    """Some steps of descent, and the mean loss on the way; none for a client without rows."""
    count = jnp.where(data.steps > 0, steps, 0).astype(jnp.int32)

    def step(s: jax.Array, carry: tuple[OptimizerState, jax.Array]) -> tuple[OptimizerState, jax.Array]:
        point, total = carry
        loss, gradient = task.loss_and_gradient(point.params, data.batch(s % data.steps))
        return descent.step(point, gradient), total + loss

    point, total = lax.fori_loop(0, count, step, (descent.start(start), jnp.zeros(())))
    return point.params, total / jnp.maximum(count, 1)
