"""Clients and published numbers of the study of free-riders: digits, two shards of each.

Fraboni, Vidal and Lorenzi, "Free-rider Attacks on Model Aggregation in Federated Learning" (2021). Five
honest clients hold four shards each, of 150 training and 75 test images of one digit: client i those of 2i
and 2i + 1, and two that are drawn. The authors' file is not public any more; here shards are cut from MNIST,
pooled to 14x14 pixels, or, where that is not there, from scikit-learn's digits with shards of 50 and 25.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from unalike.core.random import generator
from unalike.data import Federation
from unalike.data.federation import Split
from unalike.data.sources.files import local
from unalike.data.sources.source import Source, source_registry
from unalike.models import Task, linear
from unalike.typing import Array

HONEST = 5
FREE_RIDERS = (1, 5, 45)
""""15 %" of all clients in the text (one of six is 16.7 %), 50 % and 90 %."""


class Cell(NamedTuple):
    """A row of the table of variances: five honest clients of 600 rows, eta = 0.5, rho = 0.1."""

    claimed: float
    amplitude: float
    correct: float
    printed: float
    """What the printed formula gives; the number itself is not printed."""


VARIANCES = (
    Cell(0, 0.0, 0.00533, 0.00533),
    Cell(600, 0.0, 0.00477, 0.00514),
    Cell(3000, 0.0, 0.00381, 0.00571),
    Cell(27000, 0.0, 0.00287, 0.02072),
    Cell(600, 0.1, 0.00519, 0.00556),
    Cell(3000, 0.1, 0.00952, 0.01143),
    Cell(600, 0.3, 0.00856, 0.00893),
)
PROXIMAL = {
    0.0: (0.0498, 4.988e-4, 1.724e-4),
    0.1: (0.1244, 4.539e-4, 1.602e-4),
    1.0: (0.5012, 2.500e-4, 1.195e-4),
    10.0: (0.9091, 4.545e-5, 9.57e-5),
}
"""By mu: eta', rho'^2 and the variance for one free-rider of 600 rows (r = 1, rate 0.1, 30 steps of 100)."""


@dataclass(frozen=True, eq=False)
class Shards:
    """Pictures in 0..1 by digit, and how many of them a shard has."""

    name: str
    x: Array
    y: Array
    train: int
    test: int
    batch_size: int

    def federation(self, seed: int = 0, scale: float = 1.0) -> Federation:
        """Five clients of four shards; validation rows are the training rows, so that an evaluation says the
        training loss of a model."""
        rng = generator(seed, "shards")
        rows = {digit: rng.permutation(np.flatnonzero(self.y == digit)) for digit in range(10)}
        drawn = rng.permutation(10)
        whole = self.train + self.test
        train, test = [], []
        for pair in range(0, 2 * HONEST, 2):
            own = [rows[digit][:whole] for digit in (pair, pair + 1)]
            cut = own + [rows[digit][whole : 2 * whole] for digit in drawn[pair : pair + 2]]
            train.append(np.concatenate([shard[: self.train] for shard in cut]))
            test.append(np.concatenate([shard[self.train :] for shard in cut]))
        learn, judge = self._split(train, scale), self._split(test, scale)
        return Federation(learn, learn, judge, 10)

    @cached_property
    def task(self) -> Task:
        """Softmax regression; one object, so that programs are compiled once."""
        return Task.classification(linear(input_shape=self.x.shape[1:], outputs=10), 10)

    def _split(self, rows: list[Array], scale: float) -> Split:
        every = np.concatenate(rows)
        offsets = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
        return Split((scale * self.x[every]).astype(np.float32), self.y[every].astype(np.int32), offsets)


def shards(quick: bool) -> Shards:
    """MNIST where it is there and there is time, else the embedded digits."""
    path = None if quick else local("mnist.npz")
    if path is None:
        digits = source_registry.make("digits")
        assert isinstance(digits, Source)
        pictures = np.asarray(digits.x, np.float32).reshape(len(digits.x), -1)
        return Shards("digits", pictures / pictures.max(), np.asarray(digits.y), 50, 25, 32)
    with np.load(path) as stored:
        x, y = stored["x_train"], stored["y_train"]
    pooled = x.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4), dtype=np.float32) / 255
    return Shards("MNIST", pooled.reshape(len(x), -1), y, 150, 75, 100)


def with_free_riders(federation: Federation, count: int) -> Federation:
    """The federation and so many clients more, that have one row which nobody will look at."""

    def longer(part: Split, rows: int) -> Split:
        added = part.offsets[-1] + rows * np.arange(1, count + 1)
        extra = rows * count
        x, y = (np.concatenate([a, np.repeat(a[:1], extra, axis=0)]) for a in (part.x, part.y))
        return Split(x, y, np.concatenate([part.offsets, added]))

    parts = (longer(federation.train, 1), longer(federation.validation, 0), longer(federation.test, 0))
    return Federation(*parts, federation.classes)
