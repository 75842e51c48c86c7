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
from unalike.core import pytrees
from unalike.core.pytrees import Tree


@dataclass(frozen=True, kw_only=True)
class LossWeighted(FedAvg):
    """Clients count in proportion to their training loss to the power `q`."""

    q: float = 1.0

    name: ClassVar[str] = "loss-weighted"

    def client(self, task: Task, message: Tree, memory: Tree, data: ClientData, key: jax.Array) -> Reply:
        trained = local_sgd(task, message, data, self.optimizer)
        weight = trained.loss**self.q
        change = pytrees.scale(weight, pytrees.subtract(trained.params, message))
        return Reply({"change": change, "weight": weight}, memory, {"train_loss": trained.loss})

    def aggregate(self, task: Task, state: Tree, mixed: Aggregate) -> Tree:
        # Divided by the mean loss, not by its weighted sum: what the step's clients weigh together
        # (`mixed.weight`, not always one) must stay in the change, or corrections of who came are lost.
        mean_loss = mixed.total["weight"] / mixed.weight
        change = pytrees.scale(1.0 / jnp.maximum(mean_loss, 1e-12), mixed.total["change"])
        return {**state, "params": pytrees.add(state["params"], change)}


if __name__ == "__main__":
    federation = unalike.load("digits", partition="dirichlet:0.3", clients=50, seed=1)
    task = Task.classification(unalike.models.mlp(64, input_shape=(8, 8, 1), outputs=10), classes=10)
    print("kept promises:", ", ".join(unalike.testing.check_algorithm(LossWeighted())))
    for algorithm in (FedAvg(), LossWeighted()):
        run = unalike.train(federation, task, algorithm, rounds=30, per_round=10, seed=1)
        print(f"{algorithm.name}: test accuracy {run.metrics()['test_accuracy'][-1]:.3f}")
