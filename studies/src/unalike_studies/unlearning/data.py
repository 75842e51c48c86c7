"""Clients of the study of unlearning: a hundred, with one class each, or with watermarks.

The small ones have fifteen images each, of MNIST pooled to 14x14 pixels where it is there, and of
scikit-learn's 8x8 digits where it is not; the published ones have a hundred images of 28x28 pixels each.
With watermarks, labels of every client are drawn from Dirichlet(1) and images with replacement, and client i
sets ten pixels of pattern i mod 10 to the largest value, as in the authors' program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from unalike.algorithms import FedAvg, LocalWork, Optimizer
from unalike.core.random import generator
from unalike.data import Federation, load, put_watermarks
from unalike.data.sources.files import local
from unalike.experiments.unlearning_schemes import UnlearningProblem
from unalike.models import Model, Task, linear
from unalike.models.convolutional_networks import Convolution, convolutional
from unalike.typing import Array, Int64s

CLIENTS, CLASSES, PATTERNS, MARKED = 100, 10, 10, 10
REQUESTS = [list(range(digit, CLIENTS, CLASSES)) for digit in (0, 1, 2)]
"""All clients of one digit, or of one watermark, at a time."""
MEAN, DEVIATION = 0.1307, 0.3081
WATERMARK = f"pixels:{MARKED},{PATTERNS}"


class Images(NamedTuple):
    """Normalized images, and what they show."""

    x: Array
    y: Array


@dataclass(frozen=True)
class Benchmark:
    """A column of the published table of settings, and how pixels were normalized."""

    name: str
    source: str
    file: str
    mean: float
    deviation: float
    steps: int
    batch_size: int
    """Rows of a mini-batch; 0 for all of a client."""
    rate: float
    sigma: float
    clip: float
    stop: float
    """Training accuracy at which training ends."""
    convolutional: bool = False
    images: int = 100

    def problem(
        self, seed: int, watermarked: bool = False, most: int = 10_000, least: int = 50
    ) -> UnlearningProblem:
        """The clients and rules of one seed.

        Args:
            seed: of the first model and of the draws; images are the same for all.
            watermarked: whether clients differ by watermarks, and not by classes.
            most: rounds after which a training is given up.
            least: rounds before which none ends.
        """
        federation = clients_of(self, watermarked)
        model = network(federation.input_shape) if self.convolutional else None
        work = LocalWork(steps=self.steps, batch_size=self.batch_size)
        target = WATERMARKED_STOP if watermarked else self.stop
        return make_problem(
            federation, work, self.rate, f"train_accuracy:{target},{least}", most, seed, model
        )


WATERMARKED_STOP = 0.999
MNIST = Benchmark("MNIST", "mnist", "mnist.npz", MEAN, DEVIATION, 10, 0, 0.01, 0.05, 0.5, 0.93)
FASHION = Benchmark(
    "Fashion-MNIST", "fashion_mnist", "fashion_mnist.npz", 0.5, 0.5, 5, 20, 0.02, 0.1, 0.5, 0.9, True
)


def has_mnist() -> bool:
    """Whether MNIST is on this machine."""
    return local(MNIST.file) is not None


def small(seed: int, watermarked: bool = False) -> UnlearningProblem:
    """Fifteen images per client; ten of them a round take ten full-batch steps, until 90 percent. The 8x8
    digits are easier: until 96 percent they take about as many rounds."""
    there = has_mnist()
    rows = images_of("mnist" if there else "digits")
    x = rows.x.reshape(len(rows.x), 14, 2, 14, 2, 1).mean(axis=(2, 4)) if there else rows.x
    normalized = Images(((x - MEAN) / DEVIATION).astype(np.float32), rows.y)
    federation = make_watermarked_clients(normalized, 15) if watermarked else one_class_each(normalized, 15)
    target = 0.9 if there else 0.96
    return make_problem(
        federation, LocalWork(steps=10, batch_size=0), 0.02, f"train_accuracy:{target},50", 1500, seed
    )


@cache
def clients_of(benchmark: Benchmark, watermarked: bool) -> Federation:
    """The published clients of a benchmark."""
    rows = images_of(benchmark.source)
    x = ((rows.x - benchmark.mean) / benchmark.deviation).astype(np.float32)
    make = make_watermarked_clients if watermarked else one_class_each
    return make(Images(x, rows.y), benchmark.images)


def images_of(name: str) -> Images:
    """All images of a data set, with pixels between 0 and 1."""
    whole = load(name, partition="iid", clients=1, test_fraction=0.0).train
    x = whole.x.astype(np.float32)
    return Images(x / (255.0 if x.max() > 1 else 1.0), whole.y)


def one_class_each(rows: Images, images: int) -> Federation:
    """Client i has images of class i mod 10."""
    each = CLIENTS // CLASSES * images
    chosen = np.stack(
        [np.flatnonzero(rows.y == digit)[:each].reshape(-1, images) for digit in range(CLASSES)], axis=1
    )
    return _give_rows(rows, chosen.reshape(CLIENTS, images))


def make_watermarked_clients(rows: Images, images: int) -> Federation:
    """Clients with watermarks and labels from Dirichlet(1); the last class fills up what rounding leaves."""
    rng = generator(0, "unlearning watermarks")
    chosen = [_mixed(rows.y, images, rng) for _ in range(CLIENTS)]
    return put_watermarks(_give_rows(rows, chosen), WATERMARK)


def _mixed(y: Array, images: int, rng: np.random.Generator) -> Int64s:
    counts = np.floor(images * rng.dirichlet(np.ones(CLASSES))).astype(int)
    counts[-1] += images - counts.sum()
    picks = [rng.choice(np.flatnonzero(y == digit), count) for digit, count in enumerate(counts)]
    return np.concatenate(picks)


def _give_rows(rows: Images, chosen: Sequence[Int64s] | Int64s) -> Federation:
    """A client for each list of rows."""
    owners = np.repeat(np.arange(len(chosen)), [len(mine) for mine in chosen])
    every = np.concatenate(list(chosen))
    return Federation.from_owners(rows.x[every], rows.y[every], owners, clients=len(chosen), classes=CLASSES)


def network(shape: tuple[int, ...]) -> Model:
    """The network of Fashion-MNIST in the authors' program (824,458 parameters), without its dropout."""
    layers = tuple(Convolution(channels, 3, pool=True, padding="SAME") for channels in (32, 64))
    return convolutional(shape, CLASSES, layers, (256,))


def make_problem(
    federation: Federation,
    work: LocalWork,
    rate: float,
    stop_at: str,
    rounds: int,
    seed: int,
    model: Model | None = None,
) -> UnlearningProblem:
    """A problem of which ten clients take part in a round.

    Args:
        federation: the clients.
        work: what they do in a round.
        rate: the length of their steps.
        stop_at: when training ends.
        rounds: rounds after which it is given up.
        seed: of the first model and the draws.
        model: logistic regression when None.
    """
    made = model or linear(input_shape=federation.input_shape, outputs=CLASSES)
    algorithm = FedAvg(work=work, optimizer=Optimizer("sgd", rate))
    return UnlearningProblem(
        federation, Task.classification(made, CLASSES), algorithm, 10, stop_at, rounds, seed
    )
