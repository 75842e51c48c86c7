"""FedMGDA+: the server steps where no client's loss should grow (Hu, Shaloudegi, Zhang, Yu, Federated
Learning Meets Multi-Objective Optimization, 2022).

    client:   g_k = w - w_k,  w_k descended from w
    server:   u_k = g_k / |g_k|
              lam <- argmin | sum_k lam_k u_k |^2    on the simplex, with  |lam_k - lam0_k| <= epsilon
              w   <- w - (mean of |g_k|) sum_k lam_k u_k

lam0 are the step's weights: epsilon = 0 mixes directions as FedAvg mixes changes, epsilon = 1 is the multiple
gradient descent of Desideri (2012). The paper leaves the server's rate to be tuned; the mean length of what
clients moved makes it independent of scale, and the server's learning rate multiplies it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ..core.pytrees import subtract, zeros_like
from ..models import Task
from ..typing import Memory, Message, PyTree, State
from .base import Aggregate, Reply, algorithm_registry
from .fedavg import FedAvg
from .needs import Needs
from .shared.client_data import ClientData
from .shared.local_sgd import local_sgd
from .shared.newcomers import require_fraction
from .shared.simplex import project_simplex

TURNS, STILL = 300, 1e-7
"""Steps of the accelerated descent that finds the mixture, at most, and the change at which it is over."""


@algorithm_registry.add("fedmgda")
@dataclass(frozen=True, kw_only=True)
class FedMGDAPlus(FedAvg):
    """The server steps where no client's loss should grow (Hu et al., 2022)."""

    epsilon: float = 0.1
    """How far the mixture may be from the usual weights."""

    name: ClassVar[str] = "fedmgda"
    takes_state: ClassVar[bool] = False
    needs: ClassVar[Needs] = Needs(uploads=True)
    grid: ClassVar = {"epsilon": (0.01, 0.05, 0.1, 0.5, 1.0)}

    def __post_init__(self) -> None:
        require_fraction(epsilon=self.epsilon)

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        trained = local_sgd(task, message, data, self.optimizer)
        return Reply(subtract(trained.params, message), memory, {"train_loss": trained.loss})

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        assert mixed.weights is not None
        changes = jnp.concatenate(
            [leaf.reshape(leaf.shape[0], -1) for leaf in jax.tree.leaves(mixed.uploads)], axis=1
        )
        lengths = jnp.linalg.norm(changes, axis=1)
        total = mixed.weights.sum()
        usual = mixed.weights / jnp.where(total > 0, total, 1.0)
        units = changes / jnp.maximum(lengths, 1e-30)[:, None]
        mixture = common_direction(units @ units.T, usual, self.epsilon)
        factors = total * (usual @ lengths) * mixture / jnp.maximum(lengths, 1e-30)
        change: PyTree = jax.tree.map(lambda leaf: jnp.tensordot(factors, leaf, axes=1), mixed.uploads)
        return self.server_step(state, change, zeros_like(change), mixed.round)


def common_direction(products: jax.Array, usual: jax.Array, epsilon: float) -> jax.Array:
    """The mixture of least norm near the usual weights, from all inner products of the directions.

    >>> opposed = jnp.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> [round(float(p), 3) for p in common_direction(opposed, jnp.array([0.9, 0.1]), 1.0)]
    [0.5, 0.5]
    """
    low = jnp.where(usual > 0, jnp.maximum(usual - epsilon, 0.0), 0.0)
    high = jnp.where(usual > 0, jnp.minimum(usual + epsilon, 1.0), 0.0)
    steepest = jnp.maximum(jnp.abs(products).sum(1).max(), 1e-30)

    def turn(now: Descent) -> Descent:  # Nesterov's momentum
        after = project_simplex(now.ahead - products @ now.ahead / steepest, low, high)
        ahead = after + now.turns / (now.turns + 3.0) * (after - now.here)
        return Descent(after, ahead, jnp.abs(after - now.here).max(), now.turns + 1)

    def moves(now: Descent) -> jax.Array:
        return (now.turns < TURNS) & (now.moved > STILL)

    return lax.while_loop(moves, turn, Descent(usual, usual, jnp.ones(()), jnp.zeros(()))).here


class Descent(NamedTuple):
    """Where the search for a mixture is."""

    here: jax.Array
    ahead: jax.Array
    moved: jax.Array
    """By how much the last turn has changed a weight at most."""
    turns: jax.Array
