"""On which data is memory worth having?  (The Gaussian federations of the study on memorisation.)

Rows are drawn around modes of classes, x = centre of (class, mode) + noise, and dealt by one Dirichlet draw
per label, with the same fractions for training and test rows:

- `label_skew`: clients have different classes, and the same rule;
- `personal_labels`: every client also renames each (class, mode) with chance 0.2 to a random class,
  so that the same x means different things to different clients.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.random import generator
from ...data import Federation
from ...data.allocation import proportions
from ...data.federation import Split
from ...typing import Float32s, Int64s

CLASSES, DIMENSION = 10, 32
FEWEST = 10
"""Clients with fewer training rows are left out."""


class Cloud(NamedTuple):
    """Rows with their class and mode; the first `train` of them are for training."""

    x: Float32s
    classes: Int64s
    modes: Int64s
    train: int


def cloud(modes: int, spread: float, train: int, test: int, seed: int) -> Cloud:
    """Gaussian modes of classes, centres N(0, spread^2), noise N(0, 1)."""
    rng = generator(seed, "cloud")
    centers = spread * rng.normal(size=(CLASSES, modes, DIMENSION))
    classes = rng.integers(0, CLASSES, train + test)
    which = rng.integers(0, modes, train + test)
    x = centers[classes, which] + rng.normal(size=(train + test, DIMENSION))
    return Cloud(x.astype(np.float32), classes, which, train)


def label_skew(
    alpha: float, seed: int, *, clients: int = 100, train: int = 24_000, test: int = 12_000
) -> Federation:
    """Six modes a class, spread 0.8; each label dealt by Dirichlet(alpha)."""
    drawn = cloud(6, 0.8, train, test, seed)
    return _federation(drawn, drawn.classes, _dealt(drawn, alpha, clients, seed))


def two_laws(
    alpha: float, seed: int, *, clients: int = 100, train: int = 24_000, test: int = 12_000
) -> tuple[Federation, Federation]:
    """The same rows dealt twice, to the same clients: before and after a shift (nobody is left out)."""
    drawn = cloud(6, 0.8, train, test, seed)
    first, second = (_dealt(drawn, alpha, clients, seed, time) for time in range(2))
    return tuple(_federation(drawn, drawn.classes, dealt, 0) for dealt in (first, second))  # type: ignore[return-value]


def personal_labels(
    alpha: float, seed: int, *, clients: int = 100, train: int = 20_000, test: int = 10_000, rate: float = 0.2
) -> Federation:
    """Four modes a class, spread 1.2; every client renames a part of the modes."""
    drawn = cloud(4, 1.2, train, test, seed)
    rng = generator(seed, "names")
    owners = _dealt(drawn, alpha, clients, seed)
    shape = (clients, CLASSES, 4)
    own = np.broadcast_to(np.arange(CLASSES)[:, None], shape)
    names = np.where(rng.random(shape) < rate, rng.integers(0, CLASSES, shape), own)
    return _federation(drawn, names[owners, drawn.classes, drawn.modes], owners)


def _dealt(drawn: Cloud, alpha: float, clients: int, seed: int, time: int = 0) -> Int64s:
    """The client of every row: one Dirichlet draw per label, the same for training and test rows."""
    rng = generator(seed, "deal", time)
    shares = proportions(alpha, CLASSES, clients, rng).cumsum(axis=1)
    draws = rng.random(len(drawn.x))
    return np.minimum((draws[:, None] > shares[drawn.classes]).sum(axis=1), clients - 1)


def _federation(drawn: Cloud, labels: Int64s, owners: Int64s, fewest: int = FEWEST) -> Federation:
    """Clients with enough training rows and at least one test row (all of them for `fewest` = 0)."""
    number = int(owners.max()) + 1
    parts = [slice(0, drawn.train), slice(drawn.train, None)]
    train, test = (_split(drawn.x[part], labels[part], owners[part], number) for part in parts)
    nothing = Split(train.x[:0], train.y[:0], np.zeros(number + 1, np.int64))
    whole = Federation(train, nothing, test, CLASSES)
    stay = (train.sizes >= fewest) & (test.sizes >= min(fewest, 1))
    return whole if stay.all() else whole.subset(np.flatnonzero(stay))


def _split(x: Float32s, y: Int64s, owners: Int64s, clients: int) -> Split:
    order = np.argsort(owners, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=clients))]).astype(np.int64)
    return Split(x[order], y[order].astype(np.int32), offsets)
