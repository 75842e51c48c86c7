"""Decentralized training: what methods without a server share.

Every client keeps a model of its own (a leading axis of the state), works from it, and takes over the mixture
of its neighbors' results that the step's matrix W says:

    theta_t  <-  sum_s W[t, s] theta_s

:class:`Decentralized` turns a method with a server into such a one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp

from ...data.federation import Federation
from ...errors import ConfigError, unknown
from ...models import Task
from ...typing import Memory, Message, PyTree, State
from ..base import Aggregate, Algorithm, Reply
from ..fedavg import FedAvg
from .client_data import ClientData
from .optimizers import is_plain

STEP_WEIGHTS = ("importance", "equal")


@dataclass(frozen=True, kw_only=True)
class Decentralized(FedAvg):
    """What turns a method with a server into one whose clients each keep a model and mix with neighbors;
    comes before the method among the parents of a class."""

    step_weights: str = "importance"
    """Whether clients count by importance or all alike."""
    own_starts: bool = False
    """Whether every client draws a start of its own."""
    clients: int = 0
    """How many there are; filled in before training, and so are their paces."""
    paces: tuple[float, ...] = ()
    """How much longer each client's steps are than the mean."""

    decentralized: ClassVar[bool] = True

    def __post_init__(self) -> None:
        getattr(super(), "__post_init__", lambda: None)()
        if self.step_weights not in STEP_WEIGHTS:
            raise unknown("step weighting", self.step_weights, STEP_WEIGHTS)
        if not is_plain(self.server_optimizer):
            raise ConfigError("there is no server here whose optimizer could be chosen.")

    @property
    def equals_local_training(self) -> bool:
        return False

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        super().prepare(task, federation)
        count = len(federation)
        by_importance = self.step_weights == "importance"
        paces = tuple((count * federation.importance).tolist()) if by_importance else ()
        return replace(self, clients=count, paces=paces)

    def init(self, task: Task, key: jax.Array) -> State:
        if not self.own_starts:
            start = super().init(task, key)["params"]
            return State({"params": jax.tree.map(lambda leaf: jnp.stack([leaf] * self.clients), start)})
        draw = super().init
        return State(
            {"params": jax.vmap(lambda k: draw(task, k)["params"])(jax.random.split(key, self.clients))}
        )

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        return super().client(task, message, memory, self.paced(data), key)

    def paced(self, data: ClientData) -> ClientData:
        """A client that counts twice has rows that weigh twice: its pull, not the learning rate, grows."""
        if not self.paces:
            return data
        return data.weighted(jnp.asarray(self.paces)[data.client] * data.row_weights())

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        return State({"params": keep_own_if_isolated(mixed, mixed.total, state["params"])})


def keep_own_if_isolated(mixed: Aggregate, new: PyTree, old: PyTree) -> PyTree:
    """What each client takes over; the old one for a client none of whose neighbors sent anything usable."""
    heard = mixed.weight > 0
    return jax.tree.map(lambda a, b: jnp.where(heard.reshape(-1, *(1,) * (a.ndim - 1)), a, b), new, old)
