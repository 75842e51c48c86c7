"""D-FedEM: FedEM without a server; clients mix their components with those of neighbours (Marfoq, Neglia,
Bellet, Kameni, Vidal, Federated Multi-Task Learning under a Mixture of Distributions, 2021).

    client t:   q, weight_t  <-  E-step with its own components theta_t1 ... theta_tM
                theta_tm     <-  descend on  a_t mean_i q[i, m] loss(.; i)
                theta_tm     <-  sum_s W[t, s] theta_sm              with neighbours s alone

W is doubly stochastic, so it averages clients alike. With a_t = T importance_t (`importance`) everyone
together minimises FedEM's objective at FedEM's step; a_t = importance_t, as printed, has the same minimum
at a T-th of the step; a_t = 1 (`equal`) minimises the plain mean over clients.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import jax
import jax.numpy as jnp

from ..errors import ConfigError, unknown
from ..models import Task
from ..trees import Tree
from .base import Algorithm, Mixed, Reply, algorithms
from .client_data import ClientData
from .fedavg import PLAIN, FedAvg
from .fedem import FedEM

if TYPE_CHECKING:
    from ..data.federation import Federation

STEP_WEIGHTS = ("importance", "equal")


@dataclass(frozen=True, kw_only=True)
class OwnModels(FedAvg):
    """What turns a method with a server into one whose clients each keep a model and mix with neighbours;
    comes before the method among the parents of a class."""

    step_weights: str = "importance"
    """Whether clients count by importance or all alike."""
    own_starts: bool = False
    """Whether every client draws a start of its own."""
    clients: int = 0
    """How many there are; filled in before training, and so are their paces."""
    paces: tuple[float, ...] = ()
    """How much longer each client's steps are than the mean."""

    decentralised: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]
        if self.step_weights not in STEP_WEIGHTS:
            raise unknown("step weighting", self.step_weights, STEP_WEIGHTS)
        if self.server_optimizer != PLAIN:
            raise ConfigError("there is no server here whose optimiser could be chosen.")

    @property
    def equals_local_training(self) -> bool:
        return False

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        super().prepare(task, federation)
        count = len(federation)
        by_importance = self.step_weights == "importance"
        paces = tuple((count * federation.importance).tolist()) if by_importance else ()
        return replace(self, clients=count, paces=paces)

    def init(self, task: Task, key: jax.Array) -> Tree:
        if not self.own_starts:
            start = super().init(task, key)["params"]
            return {"params": jax.tree.map(lambda leaf: jnp.stack([leaf] * self.clients), start)}
        draw = super().init
        return {"params": jax.vmap(lambda k: draw(task, k)["params"])(jax.random.split(key, self.clients))}

    def client(self, task: Task, message: Tree, memory: Tree, data: ClientData, key: jax.Array) -> Reply:
        # A client that counts twice has rows that weigh twice: its pull, not the learning rate, grows.
        pace = jnp.asarray(self.paces)[data.client] if self.paces else 1.0
        return super().client(task, message, memory, data.weighted(pace * data.row_weights()), key)

    def aggregate(self, task: Task, state: Tree, mixed: Mixed) -> Tree:
        return {"params": mixed.total}


@algorithms.add("d-fedem")
@dataclass(frozen=True, kw_only=True)
class DFedEM(OwnModels, FedEM):
    """FedEM between neighbours, without a server (Marfoq et al., 2021); needs a timing that mixes, such as
    gossip."""

    name: ClassVar[str] = "d-fedem"
