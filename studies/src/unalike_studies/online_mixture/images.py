"""Real images for FEM-OMD: mixtures of groups of digits that change with time.

Ten classes in groups of 3, 3, 2 and 2 are the components; in every step a client's images are drawn from the
groups by fresh weights. Groups hold 30, 30, 20 and 20 % of the images but are asked for equally, so that the
small ones are used up before the end of a pass: another pass over a group then starts, in a new order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from unalike.algorithms import Algorithm, FedAvg, LocalWork, Optimizer
from unalike.core.random import generator
from unalike.data import Federation, load
from unalike.data.sources.files import local
from unalike.models import Task, mlp
from unalike.training.train import train
from unalike.typing import Float64s, Int64s, Memory, State

from ..fixtures import load_rows
from ..shared.image_features import Encoder
from .data import ALPHA, fresh_memories, time_step
from .labels import GROUPS, TESTED, played_accuracy

TUNING_SEED = 100
GRID = (0.03, 0.1, 0.3, 1.0)
"""Learning rates, times the sum of gradients."""


@dataclass(frozen=True, eq=False)
class Pictures:
    """Images, a model for them, and how they are dealt."""

    federation: Federation
    task: Task
    clients: int
    rows: int
    steps: int


def digits(steps: int = 500) -> Pictures:
    """8x8 digits for five clients, three at a time."""
    return _pictures(load("digits", clients=1, seed=0), 32, 5, 3, steps)


def mnist(steps: int = 1000) -> Pictures | None:
    """MNIST for ten clients, six at a time, where it is there: one pass over all images."""
    if local("mnist.npz") is None:
        return None
    return _pictures(load("mnist", clients=1, seed=0), 64, 10, 6, steps)


def cifar10(steps: int, hidden: int = 64) -> Pictures | None:
    """CIFAR-10 for ten clients, five at a time, where it is there: features of whitened patches in place of
    the published convolutions, below two fully connected layers."""
    if local("cifar10.npz") is None:
        return None
    rows = load_rows("cifar10")
    assert rows.x_test is not None
    encode = Encoder.of(rows.x[:2000])
    train, test = encode(rows.x), encode(rows.x_test)
    federation = Federation.from_clients(
        {"all": {"train": (train, rows.y), "test": (test, rows.y_test)}}, classes=10
    )
    return _pictures(federation, hidden, 10, 5, steps)


def _pictures(federation: Federation, hidden: int, clients: int, rows: int, steps: int) -> Pictures:
    model = mlp(hidden, input_shape=federation.input_shape, outputs=10)
    return Pictures(federation, Task.classification(model, 10), clients, rows, steps)


def deal(labels: Int64s, weights: Float64s, rows: int, rng: np.random.Generator) -> tuple[Int64s, Int64s]:
    """Rows for weights (steps, clients, groups), as (steps, clients, rows), and how many further passes over
    each group were begun."""
    group = np.repeat(np.arange(len(GROUPS)), GROUPS)[labels]
    counts = np.array([[rng.multinomial(rows, own) for own in step] for step in weights])
    dealt = np.zeros((*weights.shape[:2], rows), np.int64)
    ends = np.cumsum(counts, axis=-1)
    passes = np.zeros(len(GROUPS), np.int64)
    for g in range(len(GROUPS)):
        members = np.flatnonzero(group == g)
        wanted = (np.arange(rows) < ends[..., g, None]) & (np.arange(rows) >= (ends - counts)[..., g, None])
        need = int(wanted.sum())
        passes[g] = max(0, -(-need // len(members)) - 1)
        decks = [rng.permutation(members) for _ in range(passes[g] + 1)]
        dealt[wanted] = np.concatenate(decks)[:need]
    return dealt, passes


def picture_accuracies(lesson: Pictures, algorithm: Algorithm, seed: int) -> tuple[Float64s, Int64s]:
    """The accuracy of what is played in every step, on fresh test images, and further passes over groups."""
    lots, tests, passes = _deal_game(lesson, seed)
    parts = lesson.federation.train, lesson.federation.test
    pools = [(jnp.asarray(split.x), jnp.asarray(split.y)) for split in parts]
    found = _game(
        lesson.task, algorithm, pools, (jnp.asarray(lots), jnp.asarray(tests)), jax.random.key(seed)
    )
    return np.asarray(found, np.float64), passes


def rival_accuracies(lesson: Pictures, hits: Float64s, seed: int) -> Float64s:
    """The accuracy of a model that never changes, on the same test images, by which of all are hits."""
    return hits[_deal_game(lesson, seed)[1]].mean(axis=(1, 2))


def _deal_game(lesson: Pictures, seed: int) -> tuple[Int64s, Int64s, Int64s]:
    """Training and test images of every step and client, and further passes over groups."""
    rng = generator(seed, "online pictures")
    weights = rng.dirichlet(np.full(len(GROUPS), ALPHA), (lesson.steps, lesson.clients))
    train_split, test_split = lesson.federation.train, lesson.federation.test
    lots, passes = deal(np.asarray(train_split.y, np.int64), weights, lesson.rows, rng)
    tests, _ = deal(np.asarray(test_split.y, np.int64), weights, TESTED, rng)
    return lots, tests, passes


@partial(jax.jit, static_argnums=(0, 1))
def _game(task: Task, algorithm: Algorithm, pools: Any, dealt: Any, key: jax.Array) -> jax.Array:
    (x, y), (test_x, test_y) = pools
    state = algorithm.init(task, key)
    memories = fresh_memories(task, algorithm, state, dealt[0].shape[1])

    def step(
        carry: tuple[State, Memory], now: tuple[jax.Array, jax.Array]
    ) -> tuple[tuple[State, Memory], jax.Array]:
        state, memories = carry
        lot, test = now
        right = played_accuracy(task, algorithm, state, memories, test_x[test], test_y[test])
        return time_step(task, algorithm, state, memories, x[lot], key, y[lot]), right

    return lax.scan(step, (state, memories), dealt)[1]


def choose_rate(lesson: Pictures, player: Callable[[float], Algorithm]) -> float:
    """The learning rate of the largest mean accuracy in the game of a seed that is used for nothing else."""
    ends = {rate: picture_accuracies(lesson, player(rate), TUNING_SEED)[0].mean() for rate in GRID}
    return max(ends, key=lambda rate: ends[rate])


def pooled_hits(lesson: Pictures, passes: int = 10) -> Float64s:
    """Which test images one model gets right that is trained on all images together."""
    method = FedAvg(work=LocalWork(epochs=1, batch_size=32), optimizer=Optimizer("sgd", 0.1))
    run = train(lesson.federation, lesson.task, method, rounds=passes, evaluate_every=0)
    test = lesson.federation.test
    return (run.predict(test.x) == test.y).astype(np.float64)
