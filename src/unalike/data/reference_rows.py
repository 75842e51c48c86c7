"""Reference rows: training rows that a privacy defense may also use.

Defenses against membership inference often use reference rows: of the same distribution as training rows, and
perhaps as private. Here every client's training rows are cut in two, at random and by a fraction; its
reference rows then stand last, so that a method finds them by counting:

    rows 0 ... n - r - 1   train,      rows n - r ... n - 1   reference,      r = fraction * n, rounded
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..core.pixels import as_floats
from ..core.random import bits, generator
from ..errors import ConfigError
from ..typing import Bools, Int64s
from .federation import Federation, Split
from .skews import require_floats
from .train_test_split import PARTS, part_sizes


class ReferenceSplit(NamedTuple):
    """The same clients twice, each time with some of their training rows."""

    training: Federation
    reference: Federation


def reference_sizes(sizes: Int64s, fraction: float) -> Int64s:
    """How many of so many rows are reference rows; at least one is left to train on.

    >>> reference_sizes(np.array([10, 3, 1, 0]), 0.5).tolist()
    [5, 2, 0, 0]
    """
    if not 0 <= fraction < 1:
        raise ConfigError(f"the reference fraction must be at least 0 and below 1, but is {fraction:g}.")
    return part_sizes(np.asarray(sizes, np.int64), fraction, 0)


def shuffle_rows(federation: Federation, seed: int = 0) -> Federation:
    """The federation with every client's training rows in a random order of their own, so that the last ones
    are as good as any."""
    train = federation.train
    rank = np.arange(len(train.owners)) - train.offsets[:-1][train.owners]
    order = np.lexsort((bits(seed, "reference", train.owners, rank), train.owners))
    return replace(federation, train=Split(train.x[order], train.y[order], train.offsets))


def split_reference(federation: Federation, fraction: float) -> ReferenceSplit:
    """Every client's training rows, cut where its reference rows begin; importances stay as they are.

    >>> from unalike.testing import example_federation
    >>> training, reference = split_reference(example_federation(2), 0.5)
    >>> training.train.sizes.tolist(), reference.train.sizes.tolist()
    ([3, 4], [3, 5])
    """
    train = federation.train
    sizes = reference_sizes(train.sizes, fraction)
    last = _are_last(train, sizes)
    parts = []
    for chosen, kept in ((~last, train.sizes - sizes), (last, sizes)):
        offsets = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
        part = Split(train.x[chosen], train.y[chosen], offsets)
        parts.append(replace(federation, train=part, given_importance=federation.importance))
    return ReferenceSplit(*parts)


def shift_reference(federation: Federation, fraction: float, amount: float, seed: int = 0) -> Federation:
    """The federation with Gaussian noise in its reference rows: public data of another distribution.

    Args:
        federation: clients whose reference rows stand last.
        fraction: how many of the training rows these are.
        amount: standard deviations of the noise, in those of every feature.
        seed: the same seed draws the same noise.
    """
    require_floats(federation, "a shift of reference rows")
    train = federation.train
    x = np.array(as_floats(train.x))
    last = _are_last(train, reference_sizes(train.sizes, fraction))
    noise = generator(seed, "reference shift").standard_normal((int(last.sum()), *x.shape[1:]))
    x[last] += (amount * x.std(axis=0) * noise).astype(x.dtype)
    parts = {name: getattr(federation, name) for name in PARTS}
    floats = {name: replace(part, x=as_floats(part.x)) for name, part in parts.items()}
    return replace(federation, **{**floats, "train": replace(train, x=x)})


def _are_last(split: Split, sizes: Int64s) -> Bools:
    """Which rows are among so many last ones of their client."""
    rank = np.arange(len(split.owners)) - split.offsets[:-1][split.owners]
    return rank >= (split.sizes - sizes)[split.owners]
