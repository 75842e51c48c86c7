"""The design matrix of every client, with named columns.

A :class:`Design` is a federation of 64-bit rows whose features are the columns of the design matrix, in the
same order at every client, and clients that count equally, so that sums over them are exact
(:mod:`.sums`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..data import Federation, Split
from ..data.train_test_split import PARTS
from ..errors import ConfigError, DataError
from ..typing import Array, Float64s, Keywords

INTERCEPT = "Intercept"


@dataclass(frozen=True)
class Design:
    """Rows of all clients, ready for a linear predictor."""

    federation: Federation
    terms: tuple[str, ...]
    """What the columns are called, in order."""
    response: str = "y"
    varying: tuple[str, ...] = ()
    """The terms whose coefficients differ between clients, for mixed models."""

    def __post_init__(self) -> None:
        width = self.federation.input_shape
        if width != (len(self.terms),):
            raise DataError(f"rows of shape {width} cannot have {len(self.terms)} named columns.")

    def __len__(self) -> int:
        return len(self.federation)

    @classmethod
    def of(cls, federation: Federation, intercept: bool = True) -> Design:
        """All features of a federation as columns, after a column of ones if there is to be an `intercept`.

        >>> rows = Federation.from_owners(np.eye(4), np.arange(4.0), np.array([0, 0, 1, 1]))
        >>> Design.of(rows).terms
        ('Intercept', 'x1', 'x2', 'x3', 'x4')
        """
        width = math.prod(federation.input_shape)
        names = federation.columns or tuple(f"x{j + 1}" for j in range(width))
        parts: Keywords = {part: _as_design(getattr(federation, part), intercept) for part in PARTS}
        made = replace(federation, **parts, classes=None, columns=None).with_importance("equal")
        terms = ((INTERCEPT,) if intercept else ()) + tuple(names)
        return cls(made, terms, federation.target or "y")

    @property
    def is_here(self) -> bool:
        """Whether the rows are in this process, and not at nodes that keep them."""
        return any(self.federation.train.x.strides)

    @property
    def rows(self) -> int:
        """How many training rows all clients have together."""
        return len(self.federation.train.y)

    def client(self, i: int) -> tuple[Float64s, Float64s]:
        """One client's training rows and responses, where they are here."""
        if not self.is_here:
            raise ConfigError(f"the rows of client {self.federation.name(i)!r} stay there: ask the client.")
        x, y = self.federation.train.client(i)
        return np.asarray(x), np.asarray(y)


def flat_features(x: Array) -> Float64s:
    """Rows of any shape as 64-bit vectors."""
    return np.asarray(x, np.float64).reshape(len(x), math.prod(x.shape[1:]))


def _as_design(split: Split, intercept: bool) -> Split:
    x = flat_features(split.x)
    if intercept:
        x = np.column_stack([np.ones(len(x)), x])
    y = np.asarray(split.y, np.float64)
    if y.ndim > 1 and y.shape[1:] != (1,):
        raise DataError(f"an analysis explains one number per row, but targets have shape {y.shape[1:]}.")
    return Split(x, y.reshape(len(x)), split.offsets)


def check_equal_importance(federation: Federation) -> None:
    """Raise where clients do not count equally, so that sums would be wrong."""
    if np.ptp(federation.importance) > 0:
        raise ConfigError("sums over clients need clients that count equally; use with_importance('equal').")
