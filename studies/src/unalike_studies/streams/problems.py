"""Streams of the study: problems with historical and fresh clients.

Historical clients come first and have all of their rows from the start. Fresh ones hold the rows of a round
alone (memory `replace`), so that each of their rows is used once. Every problem is a function of its seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from unalike.algorithms import Algorithm, LocalWork, Optimizer, algorithm_registry
from unalike.core.random import generator
from unalike.data import Federation
from unalike.data.historical_split import HistoricalSplit
from unalike.data.loader import deal, load
from unalike.data.sources.shakespeare import shakespeare
from unalike.data.sources.source import Source
from unalike.data.streams import MemoryStream
from unalike.models import Task, linear
from unalike.training.run import Run
from unalike.training.train import train
from unalike.typing import Array, Float64s

from ..fixtures import load_rows

ROLE_ROWS, ROLE_WORK = 200, LocalWork(epochs=1, batch_size=32)
"""Shakespeare: rows of a role, and what a client computes in a round."""
CLASSES, FEATURES, NORM, SKEW = 10, 30, 3.0, 0.1
"""Gaussian classes: how many, of how many inputs, the length of their means, and Dirichlet's parameter."""


@dataclass(frozen=True)
class Problem:
    """A federation, a model, what arrives in how many rounds, and how much clients compute in each."""

    federation: Federation
    task: Task
    arrivals: str
    rounds: int
    work: LocalWork
    ordered: bool = False

    def learn(self, weights: str, rate: float, seed: int, method: str = "fedavg") -> Run:
        """Train with weights of the stream by name; one seed gives one stream, whatever the weights."""
        made = algorithm_registry.make(method, work=self.work, optimizer=Optimizer("sgd", rate))
        return self.train(made, weights, seed)

    def train(self, method: Algorithm, weights: str, seed: int) -> Run:
        """Train a method that is made already."""
        return self._train(
            method, MemoryStream(self.arrivals, "replace", weights, ordered=self.ordered), seed
        )

    def train_stream(self, weights: str, arrivals: str, memory: str, seed: int) -> Run:
        """Train FedAvg where rows arrive and are kept in another way."""
        method = algorithm_registry.make("fedavg", work=self.work, optimizer=Optimizer("sgd", 0.1))
        return self._train(method, MemoryStream(arrivals, memory, weights, ordered=self.ordered), seed)

    def _train(self, method: Algorithm, stream: MemoryStream, seed: int) -> Run:
        return train(
            self.federation, self.task, method, rounds=self.rounds, seed=seed, stream=stream, evaluate_every=0
        )


def accuracy(run: Run) -> float:
    """Test accuracy of the last model over all test rows, in percentage points."""
    return 100 * run.final()["test_accuracy"]


def logistic(historical: float, seed: int, validation: float = 0.0) -> Problem:
    """The published synthetic problem: ten historical clients share `historical` of 200 rows, and one client
    receives the others one by one; some training rows may validate instead."""
    federation = load(
        "synthetic_stream", historical_share=historical, validation_fraction=validation, seed=seed
    )
    task = Task.classification(linear(input_shape=federation.input_shape, outputs=2), 2)
    rounds = int(federation.train.sizes[-1])
    return Problem(federation, task, "constant:1,10", rounds, LocalWork(steps=1, batch_size=0))


def gaussians(
    seed: int, rounds: int, steps: int, old: Sequence[int] = (20,) * 20, batch: int = 20
) -> Problem:
    """Gaussian classes: historical clients with labels of their own, and one place that another client with
    `batch` rows takes in every round; 2,000 test rows of all classes alike."""
    rng = generator(seed, "classes")
    means = rng.normal(size=(CLASSES, FEATURES))
    means *= NORM / np.linalg.norm(means, axis=1, keepdims=True)

    def rows_of(labels: Array) -> tuple[Array, Array]:
        return (means[labels] + rng.normal(size=(len(labels), FEATURES))).astype(np.float32), labels

    def skewed(count: int) -> Array:
        return rng.choice(CLASSES, count, p=rng.dirichlet(np.full(CLASSES, SKEW)))

    tests = np.array_split(rng.integers(0, CLASSES, 2_000), len(old) + 1)
    passing = np.concatenate([skewed(batch) for _ in range(rounds)])
    labels = [*(skewed(count) for count in old), passing]
    clients = {
        str(m): {"train": rows_of(mine), "test": rows_of(test)}
        for m, (mine, test) in enumerate(zip(labels, tests, strict=True))
    }
    federation = Federation.from_clients(clients, classes=CLASSES)
    task = Task.classification(linear(input_shape=(FEATURES,), outputs=CLASSES), CLASSES)
    work = LocalWork(steps=steps, batch_size=max(batch, *old))  # all that a client holds
    return Problem(federation, task, f"constant:{batch},{len(old)}", rounds, work, ordered=True)


def pictures(
    source: Source,
    historical: float,
    seed: int,
    samples: int,
    rounds: int,
    *,
    model: str = "mlp:64",
    partition: str = "dirichlet-class:0.4",
    validation: float = 0.0,
) -> Problem:
    """25 historical clients share `historical` of the rows, 25 fresh ones the others, each part by
    Dirichlet(0.4) over labels; a fifth of each client's rows tests. Work is one pass, so that who holds more
    than 32 rows takes more steps.

    Args:
        source: images with labels.
        historical: N_hist / N.
        seed: of rows and partition.
        samples: how many rows are used.
        rounds: in how many rounds all fresh rows arrive.
        model: what learns.
        partition: how each of the two parts is partitioned.
        validation: the part of each client's rows that validates.
    """
    federation = deal(
        source,
        partition,
        50,
        seed,
        test_fraction=0.2,
        validation_fraction=validation,
        samples=samples,
        historical=HistoricalSplit(historical),
    )
    task = Task.of(federation, model)
    return Problem(federation, task, f"spread:{rounds},25", rounds, LocalWork(epochs=1, batch_size=32))


def roles(historical: float, seed: int, clients: int = 100, rounds: int = 100) -> Problem:
    """Speaking roles of Shakespeare's plays, of which some stay and the others come one after the other, each
    for two rounds; a linear model sees the last five characters and predicts the next one."""
    source = characters()
    assert source.owners is not None
    assert source.classes is not None
    speaking = np.flatnonzero(np.bincount(source.owners) >= ROLE_ROWS)
    chosen = generator(seed, "roles").permutation(speaking)[:clients]
    made = {}
    for role in chosen:
        rows = np.flatnonzero(source.owners == role)
        x = np.eye(source.classes, dtype=np.float32)[source.x[rows]].reshape(len(rows), -1)
        cut = round(0.8 * len(rows))
        made[str(role)] = {"train": (x[:cut], source.y[rows[:cut]]), "test": (x[cut:], source.y[rows[cut:]])}
    federation = Federation.from_clients(made, classes=source.classes)
    task = Task.classification(
        linear(input_shape=federation.input_shape, outputs=source.classes), source.classes
    )
    return Problem(federation, task, f"intermittent:{rounds},2,{historical}", rounds, ROLE_WORK)


@cache
def characters() -> Source:
    """Shakespeare's roles, where their file is there."""
    return shakespeare(sequence=5, stride=3, windows=ROLE_ROWS)


@cache
def digits_of_mnist() -> Source:
    """MNIST, where its file is there."""
    return load_rows("mnist")


def mean_accuracy(run: Run, part: str = "test") -> float:
    """The published metric: the mean over clients of each one's accuracy, in percentage points; of clients
    that have such rows."""
    return 100 * float(np.nanmean(run.client_metrics()[f"{part}_accuracy"]))


# Algorithm 1 by hand ----------------------------------------------------------------------------------------


def points(seed: int) -> Problem:
    """One number to learn: client m's loss on a row z is (theta - z)^2 / 2; two historical and three fresh
    clients of unequal sizes."""
    rng = generator(seed, "points")
    sizes = (6, 9, 24, 36, 48)
    empty = (np.zeros((0, 1), np.float32), np.zeros(0, np.float32))
    clients = {
        str(m): {
            "train": (np.ones((count, 1), np.float32), rng.normal(m, 1, count).astype(np.float32)),
            "test": empty,
        }
        for m, count in enumerate(sizes)
    }
    task = Task.regression(linear(0, input_shape=(1,), outputs=1))
    work = LocalWork(steps=3, batch_size=0)
    return Problem(Federation.from_clients(clients), task, "spread:12,2", 12, work, ordered=True)


def points_by_hand(problem: Problem, historical: float, rate: float) -> tuple[float, float]:
    """The last and the averaged model of the meta-algorithm, as it is printed, for `fixed:historical`."""
    train = problem.federation.train
    held = [np.split(train.client(m)[1].astype(np.float64), problem.rounds) for m in range(2, 5)]
    p = _shares(train.sizes.astype(np.float64), historical)
    shrink = (1 - rate) ** (problem.work.steps or 0)
    theta, models = 0.0, []
    for t in range(problem.rounds):
        means = [*(train.client(m)[1].mean() for m in range(2)), *(batches[t].mean() for batches in held)]
        models.append(theta)
        theta += float(p @ ((np.array(means) - theta) * (1 - shrink)))
    return theta, float(np.mean(models))


def _shares(sizes: Float64s, historical: float) -> Float64s:
    """What the two historical and the three fresh clients count."""
    return np.concatenate(
        [historical * sizes[:2] / sizes[:2].sum(), (1 - historical) * sizes[2:] / sizes[2:].sum()]
    )
