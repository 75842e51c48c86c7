"""The online game of FEM-OMD: its environments and its regret.

In every step each client plays its mixture, the environment draws the client's true weights from a Dirichlet
law, the loss is measured on rows that nobody learns from, and the client receives its n rows (Marfoq's
doctoral thesis, 2023, section 4.4). The method is the very `Algorithm` of the training loop: here its client
and server are compiled into one program for a whole game, for there is nothing to plan or record between two
rounds, and games are long; `loop_claims` of the theory part hold both to the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from unalike.algorithms import Aggregate, Algorithm, ClientData, GaussianFemOMD
from unalike.algorithms.shared.gaussian_mixture import draw_mixture_rows, gaussian_task, mixture_log_density
from unalike.core.random import generator
from unalike.data import Federation
from unalike.data.streams import HeldSteps, Selection, Stream
from unalike.models import Task
from unalike.theory.mixtures.regret import regret_curve, regret_slope
from unalike.training.run import Run
from unalike.training.train import train
from unalike.typing import ClientIds, Float64s, Memory, PyTree, State

ALPHA = 0.1
"""Of the Dirichlet law of true weights: nearly one component per client and step."""
JUDGED = 50
"""Rows on which a played model is judged, per client and step."""


@dataclass(frozen=True)
class World:
    """A game with Gaussian components: their number, dimension and variance, clients, rows and steps."""

    components: int = 10
    dimension: int = 10
    clients: int = 50
    rows: int = 30
    steps: int = 300
    variance: float = 5.0
    persistent: bool = False
    """Whether a client keeps the weights of its first step."""

    def means(self, seed: int) -> Float64s:
        """mu*_j ~ N(0, variance I)."""
        rng = generator(seed, "online means")
        return rng.normal(size=(self.components, self.dimension)) * np.sqrt(self.variance)

    def weights(self, seed: int) -> Float64s:
        """pi*, as (steps, clients, components)."""
        rng = generator(seed, "online weights")
        drawn = rng.dirichlet(
            np.full(self.components, ALPHA), (1 if self.persistent else self.steps, self.clients)
        )
        return np.broadcast_to(drawn, (self.steps, *drawn.shape[1:]))


class Played(NamedTuple):
    """What a game came to."""

    regret: Float64s
    """R_1, R_2, ..., averaged over clients, against the true means with each client's mean weights."""
    means: Float64s
    weights: Float64s
    """Of all clients, as played in the step after the last."""

    @property
    def final(self) -> float:
        """R_T."""
        return float(self.regret[-1])

    @property
    def slope(self) -> float:
        """Of the regret between T / 4 and T."""
        return regret_slope(self.regret)


def near_start(means: Float64s, seed: int, part: float = 1 / 16) -> Float64s:
    """Each mean moved in a random direction, by a part of the smallest distance between two of them."""
    rng = generator(seed, "online start")
    moves = rng.normal(size=means.shape)
    gaps = np.linalg.norm(means[:, None] - means, axis=-1)
    least = gaps[~np.eye(len(means), dtype=bool)].min()
    return means + part * least * moves / np.linalg.norm(moves, axis=1, keepdims=True)


def preset(world: World, **options: Any) -> GaussianFemOMD:
    """FEM-OMD as published, with as many exchanges as rows allow, up to five, and the pilot's floor."""
    chosen = {"components": world.components, "em_steps": min(5, world.rows), "floor": 1e-3}
    return GaussianFemOMD(**{**chosen, **options})


def play(world: World, algorithm: GaussianFemOMD, seed: int, start: Float64s | None = None) -> Played:
    """One game of all clients; from near the true means unless another start is given."""
    means, weights = world.means(seed), world.weights(seed)
    first = near_start(means, seed) if start is None else start
    state = algorithm.start([jnp.asarray(mean, jnp.float32) for mean in first])
    truth = jnp.asarray(means, jnp.float32), jnp.asarray(weights, jnp.float32)
    state, memories, losses = _game(world, algorithm, state, truth, jax.random.key(seed))
    played, fixed = (np.asarray(one, np.float64) for one in losses)
    return Played(
        regret_curve(played, fixed), np.stack(state["params"]).astype(float), np.asarray(memories["weights"])
    )


@partial(jax.jit, static_argnums=(0, 1))
def _game(
    world: World, algorithm: GaussianFemOMD, state: State, truth: tuple[jax.Array, jax.Array], key: jax.Array
) -> tuple[State, Memory, tuple[jax.Array, jax.Array]]:
    task, (means, weights) = gaussian_task(world.dimension), truth
    usual = weights.mean(axis=0)
    memories = fresh_memories(task, algorithm, state, world.clients)

    def step(
        carry: tuple[State, Memory], t: jax.Array
    ) -> tuple[tuple[State, Memory], tuple[jax.Array, jax.Array]]:
        state, memories = carry
        judged, received, own = jax.random.split(jax.random.fold_in(key, t), 3)
        seen = _draw_rows(judged, means, weights[t], JUDGED)
        losses = (
            _mean_loss(jnp.stack(state["params"]), memories["weights"], seen),
            _mean_loss(means, usual, seen),
        )
        rows = _draw_rows(received, means, weights[t], world.rows)
        return time_step(task, algorithm, state, memories, rows, own), losses

    (state, memories), losses = lax.scan(step, (state, memories), jnp.arange(world.steps))
    return state, memories, losses


def fresh_memories(task: Task, algorithm: Algorithm, state: State, clients: int) -> Memory:
    """What clients remember before they have played."""
    memory = algorithm.init_client(task, algorithm.broadcast(task, state), jax.random.key(0))
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (clients, *leaf.shape)), memory)


def time_step(
    task: Task,
    algorithm: Algorithm,
    state: State,
    memories: Memory,
    rows: jax.Array,
    key: jax.Array,
    y: Any = None,
) -> tuple[State, Memory]:
    """All rounds of one step of time, for rows (clients, rows, ...) that everyone has as many of."""
    labels = jnp.zeros(rows.shape[:2]) if y is None else y

    def one(
        message: PyTree, memory: Memory, x: jax.Array, y: jax.Array, key: jax.Array
    ) -> tuple[PyTree, Memory]:
        reply = algorithm.client(task, message, memory, as_client(x, y, key), key)
        return reply.upload, reply.memory

    def turn(k: Any, carry: tuple[State, Memory]) -> tuple[State, Memory]:
        state, memories = carry
        keys = jax.random.split(jax.random.fold_in(key, k), len(rows))
        message = algorithm.broadcast(task, state)
        uploads, memories = jax.vmap(partial(one, message))(memories, rows, labels, keys)
        total = jax.tree.map(lambda leaf: leaf.mean(axis=0), uploads)
        clients = jnp.asarray(len(rows), jnp.float32)
        mixed = Aggregate(total, message, jnp.ones(()), clients, jnp.ones(()), k)
        return algorithm.aggregate(task, state, mixed), memories

    rounds = getattr(algorithm, "rounds_per_step", 1)
    return lax.fori_loop(0, rounds, turn, (state, memories))


def as_client(x: jax.Array, y: jax.Array, key: jax.Array) -> ClientData:
    """A client that has these rows, all of which are its mini-batch."""
    count, zero = len(x), jnp.asarray(0, jnp.int32)
    return ClientData(
        x=x,
        y=y,
        weights=None,
        own_weights=None,
        start=zero,
        size=jnp.asarray(count, jnp.int32),
        steps=jnp.asarray(1, jnp.int32),
        positions=jnp.arange(count, dtype=jnp.int32)[None],
        round=zero,
        key=key,
        capacity=count,
    )


def _draw_rows(key: jax.Array, means: jax.Array, weights: jax.Array, rows: int) -> jax.Array:
    keys = jax.random.split(key, len(weights))
    return jax.vmap(lambda k, w: draw_mixture_rows(k, means, w, rows))(keys, weights)


def _mean_loss(means: jax.Array, weights: jax.Array, rows: jax.Array) -> jax.Array:
    """-log of the clients' mixtures, averaged over clients and rows."""
    return -jax.vmap(partial(mixture_log_density, means))(weights, rows).mean()


# The same game in the training loop -----------------------------------------------------------------------


@dataclass(frozen=True)
class BatchStream(Stream):
    """A stream: in step t every client has its t-th lot of rows, and nothing else."""

    federation: Federation
    rows: int

    def select(self, round: int, clients: ClientIds) -> Selection:
        """The rows of these clients in this step."""
        starts = self.federation.train.offsets[clients] + round * self.rows
        chosen = starts[:, None] + np.arange(self.rows)
        return Selection(chosen.ravel(), np.arange(len(clients) + 1) * self.rows)


def run_loop(rows: Float64s, algorithm: GaussianFemOMD, start: Float64s, **options: Any) -> Run:
    """A game of rows (steps, clients, rows, dimension) by :func:`train`."""
    steps, clients, count, dimension = rows.shape
    own = rows.transpose(1, 0, 2, 3).reshape(clients, steps * count, dimension).astype(np.float32)
    data = {str(c): {"train": (x, np.zeros(len(x)))} for c, x in enumerate(own)}
    federation = Federation.from_clients(data, classes=None)
    turns = algorithm.rounds_per_step
    return train(
        federation,
        gaussian_task(dimension),
        algorithm,
        rounds=steps * turns,
        stream=HeldSteps(BatchStream(federation, count), turns),
        initial=algorithm.start([jnp.asarray(mean, jnp.float32) for mean in start]),
        evaluate_every=0,
        **options,
    )
