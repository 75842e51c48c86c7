"""The data source interface: what a data set offers before it is partitioned.

A :class:`Source` is a pile of rows with labels and, where the data set has them, its own clients, its own
test rows and two-level labels. `sources` holds the makers under the names that people type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...core.plain_files import free_memory, in_words
from ...core.random import generator
from ...core.registry import Registry
from ...errors import ConfigError, DataError
from ...typing import Array, Int64s
from ..federation import Federation

Rows = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Source:
    """Rows with labels; `owners` are numbers from 0 for data with clients of its own, called `owner_names`.

    Images are bytes, and floats in [0, 1] when a model sees them. `ordered` rows are a text or a series: they
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


MOST_ROWS = 5_000_000
"""Generated rows without being asked for: more than a gigabyte of sixty numbers each."""

source_registry: Registry[Source | Federation] = Registry("data set", "data")


def by_user(users: Mapping[str, Rows], classes: int, description: str) -> Source:
    """Rows whose owners are the users.

    >>> source = by_user({"a": (np.zeros((2, 3)), np.array([0, 1]))}, 2, "two rows")
    >>> source.owner_names, source.owners.tolist()
    (('a',), [0, 0])
    """
    if not users:
        raise DataError(f"{description}: nobody has any row.")
    y = np.concatenate([rows[1] for rows in users.values()]).astype(np.int32)
    if not y.size:
        raise DataError(f"{description}: nobody has any row.")
    if not (y.min() >= 0 and y.max() < classes):
        raise DataError(f"{description}: labels must be whole numbers from 0 to {classes - 1}.")
    return Source(
        np.concatenate([rows[0] for rows in users.values()]),
        y,
        classes,
        owners=np.repeat(np.arange(len(users)), [len(rows[1]) for rows in users.values()]),
        owner_names=tuple(users),
        description=description,
    )


def some_rows(total: int, samples: int | None, seed: int) -> Int64s:
    """All rows, or so many of them drawn at random, in order."""
    if samples is None or samples >= total:
        return np.arange(total)
    if samples < 1:
        raise ConfigError(f"{samples} samples is not possible; ask for at least 1.")
    return np.sort(generator(seed, "samples").choice(total, samples, replace=False))


def check_rows(rows: int, clients: int, row_bytes: int) -> None:
    """Refuse generated rows that nobody asked for in so many words.

    A number of clients is quickly typed, and a few more digits are gigabytes: beyond 5 million rows, say with
    `samples` how many to keep.
    """
    if rows > MOST_ROWS:
        raise ConfigError(
            f"{clients} clients have {rows:,} rows of {in_words(rows * row_bytes)}; ask for about "
            f"{clients * MOST_ROWS // rows} clients, or keep fewer rows of each with --samples {MOST_ROWS}."
        )


def check_memory(size: int) -> None:
    """Refuse what does not fit into memory before it is made."""
    if size > free_memory():
        raise ConfigError(
            f"these data need {in_words(size)} but {in_words(free_memory())} are free; ask for fewer rows or "
            "clients."
        )


SCALED_TOGETHER = frozenset({"breast_cancer", "diabetes", "heart_disease", "heart_like"})
"""Data sets whose columns are standardized with the rows of all clients."""


def standardize(x: Array) -> Array:
    """Columns with mean 0 and variance 1 over all clients; constant columns become 0.

    >>> standardize(np.array([[1.0, 5.0], [3.0, 5.0]]))
    array([[-1., 0.],
           [ 1., 0.]], dtype=float32)
    """
    spread = x.std(axis=0)
    return ((x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)).astype(np.float32)
