"""Altered rows: clients' features with added noise, or fewer of them.

E. Buttaci, "Does Perturbation Aid Convergence?" (MSc thesis, Politecnico di Torino), section 3.2, asks how
the spectrum of a network moves when its clients change. Here they do:

    x' = x + sigma z,  z ~ Normal(0, I),     or a random part of every client's rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core.pixels import as_floats
from ...core.random import generator
from ...errors import ConfigError
from ..federation import Federation


def with_noise(federation: Federation, sigma: float, seed: int = 0) -> Federation:
    """The same clients with Gaussian noise on all training features.

    >>> one = Federation.from_owners(np.ones((2, 3)), np.zeros(2, int), np.zeros(2, int))
    >>> bool((with_noise(one, 0.0).train.x == one.train.x).all())
    True
    """
    if not 0 <= sigma < np.inf:
        raise ConfigError(f"noise of standard deviation {sigma} is not possible; it must be at least 0.")
    x = as_floats(federation.train.x)
    if x.dtype.kind != "f":
        raise ConfigError("noise needs numbers as features, not symbols such as characters.")
    drawn = generator(seed, "feature noise").standard_normal(x.shape, dtype=np.float32)
    return replace(federation, train=replace(federation.train, x=x + np.float32(sigma) * drawn))


def with_part_of_rows(federation: Federation, part: float, seed: int = 0) -> Federation:
    """The same clients with a random part of their training rows, at least one of each.

    >>> one = Federation.from_owners(np.eye(4), np.zeros(4, int), np.array([0, 0, 0, 1]))
    >>> with_part_of_rows(one, 0.5).train.sizes
    array([2, 1])
    """
    if not 0 < part <= 1:
        raise ConfigError(f"the fraction of rows must be in (0, 1], but is {part}.")
    train = federation.train
    kept = np.where(train.sizes > 0, np.maximum(np.round(part * train.sizes), 1), 0).astype(np.int64)
    # Rows in random order within their client, of which the first ones stay.
    order = np.lexsort((generator(seed, "part of rows").random(len(train.y)), train.owners))
    place = np.arange(len(order)) - np.repeat(train.offsets[:-1], train.sizes)
    rows = np.sort(order[place < np.repeat(kept, train.sizes)])
    offsets = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
    return replace(federation, train=replace(train, x=train.x[rows], y=train.y[rows], offsets=offsets))
