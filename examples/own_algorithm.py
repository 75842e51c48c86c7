"""How is a new method written?  (FedAvg whose clients stop counting when their loss is already small.)

Run it with `python examples/own_algorithm.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

import unalike
from unalike import Aggregate, ClientData, FedAvg, Reply, Task, local_sgd
from unalike.typing import Memory, Message, Predictor, State


@dataclass(frozen=True, kw_only=True)
class LossWeighted(FedAvg):
    """Clients count in proportion to their training loss to the power `q`.

    A reply's weight multiplies what its client weighs in the step, so that what samplers and timings have
    corrected stays. It is relative to the usual level of losses, which the server follows and broadcasts.
    """

    q: float = 1.0

    name: ClassVar[str] = "loss-weighted"

    @property
    def equals_local_training(self) -> bool:
        return False

    def init(self, task: Task, key: jax.Array) -> State:
        return {**super().init(task, key), "level": jnp.ones(())}

    def broadcast(self, task: Task, state: State) -> Message:
        return {"params": state["params"], "level": state["level"]}

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        trained = local_sgd(task, message["params"], data, self.optimizer)
        weight = jnp.maximum(trained.loss, 1e-6) ** self.q / message["level"]
        upload = {"params": trained.params, "share": 1.0 / weight}
        return Reply(upload, memory, {"train_loss": trained.loss}, weight)

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        stepped = self.server_step(state, mixed.total["params"], mixed.start["params"], mixed.round)
        seen = state["level"] * mixed.weight / mixed.total["share"]  # mean of losses^q
        return {**stepped, "level": 0.98 * state["level"] + 0.02 * seen}

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return message["params"]


if __name__ == "__main__":
    federation = unalike.load("digits", partition="dirichlet:0.3", clients=50, seed=1)
    task = Task.classification(unalike.models.mlp(64, input_shape=(8, 8, 1), outputs=10), classes=10)
    print("kept promises:", ", ".join(unalike.testing.check_algorithm(LossWeighted())))
    for algorithm in (FedAvg(), LossWeighted()):
        run = unalike.train(federation, task, algorithm, rounds=30, per_round=10, seed=1)
        print(f"{algorithm.name}: test accuracy {run.metrics()['test_accuracy'][-1]:.3f}")
