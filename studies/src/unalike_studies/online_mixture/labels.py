"""Discriminative games: changing environments in which labels identify components.

Classes are Gaussians around means of one length. Either every component has its own names for them (a random
permutation of labels: one model must fail), or every component is a group of classes (as published).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from unalike.algorithms import Algorithm, FedOMD, FemOMD, LocalWork, Optimizer
from unalike.core.random import generator
from unalike.models import Model, Task
from unalike.typing import Float64s, Memory, Params, State

from .data import ALPHA, as_client, fresh_memories, time_step

CLASSES = 10
GROUPS = (3, 3, 2, 2)
"""How many classes each component has, where components are groups of classes."""
ROWS, TESTED = 6, 20
"""Rows that a client receives, and rows on which it is tested, per step."""
RATE = 0.1
"""Times the sum of gradients."""


@dataclass(frozen=True)
class Labels:
    """A game of classification."""

    grouped: bool = False
    persistent: bool = False
    length: float = 6.0
    """Of the class means."""
    steps: int = 600
    clients: int = 10
    dimension: int = 30

    def drawn(self, seed: int) -> Drawn:
        """Class means, what components do with classes, and the true weights."""
        rng = generator(seed, "online labels")
        means = rng.normal(size=(CLASSES, self.dimension))
        means *= self.length / np.linalg.norm(means, axis=1, keepdims=True)
        parts = len(GROUPS)
        names = np.array(
            [np.arange(CLASSES) if self.grouped else rng.permutation(CLASSES) for _ in range(parts)]
        )
        groups = np.repeat(np.arange(parts), GROUPS)
        chances = (groups == np.arange(parts)[:, None]) if self.grouped else np.ones((parts, CLASSES))
        shape = (1 if self.persistent else self.steps, self.clients)
        weights = np.broadcast_to(
            rng.dirichlet(np.full(parts, ALPHA), shape), (self.steps, self.clients, parts)
        )
        return Drawn(*map(jnp.asarray, (means, names, chances / chances.sum(axis=1, keepdims=True), weights)))


class Drawn(NamedTuple):
    """What the environment fixed."""

    means: jax.Array
    names: jax.Array
    """The label of every class in every component."""
    chances: jax.Array
    """Of every class in every component."""
    weights: jax.Array

    def rows(self, key: jax.Array, weights: jax.Array, count: int) -> tuple[jax.Array, jax.Array]:
        """Rows of one client and their labels."""
        first, second, noise = jax.random.split(key, 3)
        part = jax.random.categorical(first, jnp.log(weights + 1e-12), shape=(count,))
        kind = jax.random.categorical(second, jnp.log(self.chances[part] + 1e-12))
        x = self.means[kind] + jax.random.normal(noise, (count, self.means.shape[1]))
        return x, self.names[part, kind]


def softmax_regression(dimension: int) -> Task:
    """Starts at N(0, 0.05^2), so that components differ."""

    def init(key: jax.Array) -> Params:
        return {"w": 0.05 * jax.random.normal(key, (CLASSES, dimension)), "b": jnp.zeros(CLASSES)}

    def apply(params: Params, x: jax.Array) -> jax.Array:
        return x @ params["w"].T + params["b"]

    return Task.classification(Model(init, apply), CLASSES)


def mixture_player(outer: str = "last", rate: float = RATE) -> FemOMD:
    """FEM-OMD with one step of descent, at a rate of the sum over rows."""
    return FemOMD(
        components=len(GROUPS),
        outer=outer,
        inner_start="played",
        weight_rate=0.05,
        work=LocalWork(steps=1, batch_size=0),
        optimizer=Optimizer("sgd", rate),
    )


def single_player(rate: float = RATE) -> FedOMD:
    """FedOMD with the same descent."""
    return FedOMD(work=LocalWork(steps=1, batch_size=0), optimizer=Optimizer("sgd", rate))


def accuracies(world: Labels, algorithm: Algorithm, seed: int) -> Float64s:
    """The accuracy of what is played, in every step, averaged over clients."""
    return np.asarray(_game(world, algorithm, world.drawn(seed), jax.random.key(seed)), np.float64)


@partial(jax.jit, static_argnums=(0, 1))
def _game(world: Labels, algorithm: Algorithm, drawn: Drawn, key: jax.Array) -> jax.Array:
    task = softmax_regression(world.dimension)
    state = algorithm.init(task, jax.random.fold_in(key, world.steps))
    memories = fresh_memories(task, algorithm, state, world.clients)

    def step(carry: tuple[State, Memory], t: jax.Array) -> tuple[tuple[State, Memory], jax.Array]:
        state, memories = carry
        test, received, own = jax.random.split(jax.random.fold_in(key, t), 3)
        lots: list[Any] = [
            jax.vmap(partial(drawn.rows, count=count))(jax.random.split(k, world.clients), drawn.weights[t])
            for k, count in ((test, TESTED), (received, ROWS))
        ]
        right = played_accuracy(task, algorithm, state, memories, *lots[0])
        return time_step(task, algorithm, state, memories, lots[1][0], own, lots[1][1]), right

    return lax.scan(step, (state, memories), jnp.arange(world.steps))[1]


def played_accuracy(
    task: Task, algorithm: Algorithm, state: State, memories: Memory, x: jax.Array, y: jax.Array
) -> jax.Array:
    """Of what all clients play, on rows (clients, rows, ...) of their own."""
    message, key = algorithm.broadcast(task, state), jax.random.key(0)

    def tested(memory: Memory, x: jax.Array, y: jax.Array) -> jax.Array:
        predictor = algorithm.predictor(task, message, memory, as_client(x, y, key), key)
        return jnp.mean(jnp.argmax(algorithm.predict(task, predictor, x), axis=-1) == y)

    return jax.vmap(tested)(memories, x, y).mean()


def best_accuracy(world: Labels, seed: int, rows: int = 20_000) -> float:
    """Of the nearest class mean, the best that one model can do where components are groups of classes."""
    means, rng = np.asarray(world.drawn(seed).means, np.float64), generator(seed, "online best")
    groups = rng.integers(len(GROUPS), size=rows)
    firsts = np.concatenate([[0], np.cumsum(GROUPS)[:-1]])
    kinds = firsts[groups] + rng.integers(np.array(GROUPS)[groups])
    x = means[kinds] + rng.normal(size=(rows, world.dimension))
    return float(((x @ means.T).argmax(axis=1) == kinds).mean())  # means have one length


def quarter(values: Float64s, number: int) -> float:
    """The mean over the first (0) to last (3) quarter, in points."""
    size = len(values) // 4
    return float(100 * values[number * size : (number + 1) * size].mean())
