"""Clients of the study of unlearning: a hundred, with one digit each.

The small one has fifteen images per client, of MNIST pooled to 14x14 pixels where it is there, and of
scikit-learn's 8x8 digits where it is not; the published one has a hundred images of 28x28 pixels per client.
"""

from __future__ import annotations

import numpy as np

from unalike.algorithms import FedAvg, LocalWork, Optimizer
from unalike.data import Federation, load
from unalike.data.sources.files import local
from unalike.experiments.unlearning_schemes import UnlearningProblem
from unalike.models import Task, linear
from unalike.typing import Array

CLIENTS, CLASSES = 100, 10
REQUESTS = [list(range(digit, CLIENTS, CLASSES)) for digit in (0, 1, 2)]
"""All clients of one digit at a time."""
MEAN, DEVIATION = 0.1307, 0.3081


def has_mnist() -> bool:
    """Whether MNIST is on this machine."""
    return local("mnist.npz") is not None


def small(seed: int) -> UnlearningProblem:
    """Fifteen images per client; ten of them a round take ten full-batch steps, until 90 percent. The 8x8
    digits are easier: until 96 percent they take about as many rounds."""
    name, target = ("mnist", 0.9) if has_mnist() else ("digits", 0.96)
    x, y = _rows(name)
    if name == "mnist":
        x = x.reshape(len(x), 14, 2, 14, 2, 1).mean(axis=(2, 4))
    return _lesson(x, y, 15, 0.02, f"train_accuracy:{target},50", 1500, seed)


def published(seed: int, momentum: float = 0.0) -> UnlearningProblem:
    """The published setting: a hundred images per client, until 93 percent."""
    x, y = _rows("mnist")
    return _lesson(x, y, 100, 0.01, "train_accuracy:0.93,50", 10_000, seed, momentum)


def _rows(name: str) -> tuple[Array, Array]:
    whole = load(name, partition="iid", clients=1, test_fraction=0.0).train
    x = whole.x.astype(np.float32)
    return x / (255.0 if x.max() > 1 else 1.0), whole.y


def _lesson(
    x: Array,
    y: Array,
    images: int,
    rate: float,
    stop_at: str,
    rounds: int,
    seed: int,
    momentum: float = 0.0,
) -> UnlearningProblem:
    """Client i has images of class i mod 10; the images are the same for every seed."""
    each = CLIENTS // CLASSES * images
    rows = np.stack(
        [np.flatnonzero(y == digit)[:each].reshape(-1, images) for digit in range(CLASSES)], axis=1
    )
    chosen, owners = rows.reshape(-1), np.repeat(np.arange(CLIENTS), images)
    pixels = ((x[chosen] - MEAN) / DEVIATION).astype(np.float32)
    federation = Federation.from_owners(pixels, y[chosen], owners, clients=CLIENTS)
    model = linear(input_shape=federation.input_shape, outputs=CLASSES)
    options = (("momentum", momentum),) if momentum else ()
    algorithm = FedAvg(
        work=LocalWork(steps=10, batch_size=0), optimizer=Optimizer("sgd", rate, options=options)
    )
    task = Task.classification(model, CLASSES)
    return UnlearningProblem(federation, task, algorithm, 10, stop_at, rounds, seed)
