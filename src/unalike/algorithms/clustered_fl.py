"""Clustered federated learning: clusters of clients are split in two when averaging converges but clients'
gradients still disagree (Sattler, Mueller, Samek, Clustered Federated Learning: Model-Agnostic Distributed
Multi-Task Optimization under Privacy Constraints, 2020).

    client t:   theta_t  <-  descend from its cluster's model;      sends  D_t = theta_t - theta
    server:     for each cluster c:
                    if |mean_{t in c} D_t| < tol1  and  max_{t in c} |D_t| > tol2  and  |c| > 2:
                        split c in two by complete linkage on 1 - cos(D_s, D_t)
                theta_c <- theta_c + sum_{t in c} importance_t D_t / sum_{t in c} importance_t

Training may begin with `groups` clusters of clients whose features are alike, found before the first round in
the similarity graph (see `data/similarity/clusters.py`), instead of with one.

Clusters are split only in rounds in which everyone takes part. All models go down in the simulation, and
every client reads its own; only that one is counted. A client that joins later takes the model of least loss
on its own training rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import lax

from ..core import pytrees
from ..core.pytrees import nbytes
from ..data.federation import Federation
from ..data.similarity import client_groups
from ..errors import ConfigError
from ..models import Task
from ..typing import Memory, Message, Predictor, PyTree, State, Upload
from .base import Aggregate, Algorithm, Reply, algorithm_registry
from .needs import Needs
from .shared.client_data import ClientData
from .shared.linkage import complete_linkage_halves
from .shared.local_sgd import local_sgd
from .shared.mixture import component_losses
from .shared.optimizers import Optimizer


@algorithm_registry.add("clustered-fl")
@dataclass(frozen=True, kw_only=True)
class ClusteredFL(Algorithm):
    """Clients are split in two where they pull a settled model apart, repeatedly (Sattler et al., 2020)."""

    tol1: float = 0.4
    """A cluster's mean change must be shorter than this before it is split..."""
    tol2: float = 1.6
    """...and the longest change of one of its clients longer than this."""
    most: int = 16
    """Clusters, at most."""
    groups: int = 0
    """Clusters to begin with, of clients whose features are alike; 0 begins with one cluster of all."""
    clients: int = 0
    """How many clients there are; found when training starts."""
    first_clusters: tuple[int, ...] = ()
    """The cluster that each client begins in; found when training starts."""
    optimizer: Optimizer = field(default_factory=Optimizer)

    name: ClassVar[str] = "clustered-fl"
    personalized: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs(uploads=True)

    def __post_init__(self) -> None:
        if not (self.tol1 >= 0 and self.tol2 >= 0):
            raise ConfigError(f"tol1 and tol2 must not be negative, but are {self.tol1} and {self.tol2}.")
        if self.most < 1:
            raise ConfigError(f"most must be at least 1 cluster, but is {self.most}.")
        if not 0 <= self.groups <= self.most:
            raise ConfigError(f"groups must be between 0 and {self.most} clusters, but is {self.groups}.")

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        first = tuple(client_groups(federation, self.groups).tolist()) if self.groups else ()
        return replace(self, clients=len(federation), first_clusters=first)

    def traffic(self, message: Message, upload: Upload) -> tuple[int, int]:
        return nbytes(upload), nbytes(upload)

    def init(self, task: Task, key: jax.Array) -> State:
        models = pytrees.stack([task.init(key)] * self.most)
        cluster = jnp.asarray(self.first_clusters or (0,) * self.clients, jnp.int32)
        return State({"models": models, "cluster": cluster, "count": jnp.asarray(max(self.groups, 1))})

    def broadcast(self, task: Task, state: State) -> Message:
        return Message(state)

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        return Memory({"joined": jnp.asarray(-1)})

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        start = pytrees.row(message["models"], message["cluster"][data.client])
        trained = local_sgd(task, start, data, self.optimizer)
        return Reply(pytrees.subtract(trained.params, start), memory, {"train_loss": trained.loss})

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        who = mixed.clients
        assert who is not None
        assert mixed.weights is not None
        changes = jax.tree.map(
            lambda leaf: jnp.zeros((self.clients, *leaf.shape[1:])).at[who].set(leaf), mixed.uploads
        )
        weights = jnp.zeros(self.clients).at[who].set(mixed.weights)
        everyone = len(who) == self.clients  # a split compares all clients, so nobody may be missing
        split = self._split(state, _rows(changes), weights) if everyone else state
        member = jax.nn.one_hot(split["cluster"], self.most) * weights[:, None]
        share = member / jnp.maximum(member.sum(0), 1e-30)
        mean = jax.tree.map(lambda leaf: jnp.tensordot(share.T, leaf, axes=1), changes)
        return State({**split, "models": pytrees.add(split["models"], mean)})

    def newcomer(self, task: Task, message: Message, data: ClientData, key: jax.Array) -> Memory:
        models = [pytrees.row(message["models"], j) for j in range(self.most)]
        losses = data.row_weights() @ data.per_row(partial(component_losses, task, models))
        used = jnp.arange(self.most) < message["count"]
        return Memory({"joined": jnp.argmin(jnp.where(used, losses, jnp.inf))})

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        joined = memory["joined"]
        own = jnp.where(joined < 0, message["cluster"][data.client], joined)
        return pytrees.row(message["models"], own)

    def _split(self, state: State, changes: jax.Array, weights: jax.Array) -> PyTree:
        """Look at every cluster of this round once, and split those that are torn."""
        lengths = jnp.linalg.norm(changes, axis=1)
        unit = changes / jnp.maximum(lengths, 1e-30)[:, None]
        distances = 1.0 - unit @ unit.T

        def look(c: jax.Array, state: State) -> PyTree:
            member = (state["cluster"] == c) & (weights > 0)
            share = member / jnp.maximum(member.sum(), 1)  # all clients alike: importance counts below only
            settled = jnp.linalg.norm(share @ changes) < self.tol1
            torn = jnp.max(jnp.where(member, lengths, 0.0)) > self.tol2
            room = (member.sum() > 2) & (state["count"] < self.most)
            return lax.cond(
                settled & torn & room, lambda s: _divide(s, c, member, distances), lambda s: s, state
            )

        return lax.fori_loop(0, state["count"], look, state)


def _divide(state: State, cluster: jax.Array, member: jax.Array, distances: jax.Array) -> PyTree:
    """One half keeps the cluster's number, the other gets a new one and starts from the same model."""
    leaves = complete_linkage_halves(distances, member)
    new = state["count"]
    models = jax.tree.map(lambda leaf: leaf.at[new].set(leaf[cluster]), state["models"])
    return {"models": models, "cluster": jnp.where(leaves, new, state["cluster"]), "count": new + 1}


def _rows(changes: PyTree) -> jax.Array:
    """One vector per client."""
    leaves = jax.tree.leaves(changes)
    return jnp.concatenate([leaf.reshape(leaf.shape[0], -1) for leaf in leaves], axis=1)
