"""Stratified test split of each center, so that small centers have both classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...data import Federation
from ...data.federation import assemble
from ...data.train_test_split import assign_parts
from ...errors import DataError
from ...typing import Array


def split_centers(
    federation: Federation, test_fraction: float, validation_fraction: float = 0.0, seed: int = 0
) -> Federation:
    """The centers cut anew by center and class (or event); test rows do not depend on validation rows.

    >>> rows = Federation.from_owners(np.eye(8), np.arange(8) % 2, np.zeros(8, int))
    >>> np.bincount(split_centers(rows, 0.5).test.y)
    array([2, 2])
    """
    if len(federation.test.y) or len(federation.validation.y):
        raise DataError("centers are cut once; load them with test_fraction=0.")
    owners, kinds = federation.train.owners, strata(federation)
    count = int(kinds.max()) + 1
    parts = assign_parts(
        owners.astype(np.int64) * count + kinds,
        len(federation) * count,
        test_fraction,
        validation_fraction,
        seed,
    )
    x, y = federation.train.x, federation.train.y
    train, validation, test = assemble(x, y, owners, parts, len(federation))
    return replace(federation, train=train, validation=validation, test=test)


def strata(federation: Federation) -> Array:
    """The class of every row, or whether the event came."""
    y = federation.train.y
    return y.astype(np.int64) if federation.classes else (y > 0).astype(np.int64)
