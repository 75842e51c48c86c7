"""What does a data set offer before it is dealt to clients?

A :class:`Source` is a pile of rows with labels and, where the data set has them, its own clients, its own
test rows and two-level labels. `sources` holds the makers under the names that people type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...registry import Registry
from ..federation import Federation

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Source:
    """Rows with labels; `owners` are numbers from 0 for data with clients of its own, called `owner_names`.

    Images are bytes here and floats in [0, 1] in a federation. `ordered` rows are a text or a series: they
    are cut into train and test in time, not at random.
    """

    x: Array
    y: Array
    classes: int | None
    x_test: Array | None = None
    y_test: Array | None = None
    owners: Array | None = None
    owner_names: tuple[str, ...] | None = None
    coarse: Array | None = None
    label_names: tuple[str, ...] | None = None
    ordered: bool = False
    description: str = ""

    def pooled(self) -> tuple[Array, Array]:
        """All rows, the original test rows last."""
        if self.x_test is None or self.y_test is None:
            return self.x, self.y
        return np.concatenate([self.x, self.x_test]), np.concatenate([self.y, self.y_test])


sources: Registry[Source | Federation] = Registry("data set")


def standardise(x: Array) -> Array:
    """Columns with mean 0 and variance 1 over all clients; constant columns become 0.

    >>> standardise(np.array([[1.0, 5.0], [3.0, 5.0]]))
    array([[-1., 0.],
           [ 1., 0.]], dtype=float32)
    """
    spread = x.std(axis=0)
    return ((x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)).astype(np.float32)
