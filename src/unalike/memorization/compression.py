"""Compression of datastores: shorter keys, the same for all clients.

A projection to p' < p numbers that everyone shares costs p p' numbers once, and makes every key shorter:

    key -> matrix (key - center)

`random` needs no data (Johnson and Lindenstrauss, 1984: distances survive); `pca` keeps the directions in
which clients' keys vary most, found from sums that clients can send (counts, means and second moments). Keys
in fewer bits are :meth:`Datastore.packed`, and learned prototypes are in `protonn.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..core.random import generator
from ..core.registry import Registry
from ..errors import ConfigError
from ..typing import Float32s


@dataclass(frozen=True, eq=False)
class Projection:
    """Shortens keys."""

    matrix: Float32s
    """One row per number of a shortened key."""
    center: Float32s

    def __call__(self, keys: Float32s) -> Float32s:
        return np.asarray((keys - self.center) @ self.matrix.T, np.float32)

    @property
    def nbytes(self) -> int:
        """What a client needs besides its store."""
        return self.matrix.nbytes + self.center.nbytes


projection_registry: Registry[Callable[[Float32s], Projection]] = Registry("projection")


@projection_registry.add("random")
def random(dimensions: int = 32, *, seed: int = 0) -> Callable[[Float32s], Projection]:
    """Random directions, which need no data; `random:16` makes keys of 16 numbers."""

    def fit(keys: Float32s) -> Projection:
        length = _check_dimensions(dimensions, keys)
        drawn = generator(seed, "projection").normal(size=(length, keys.shape[1])) / np.sqrt(length)
        return Projection(drawn.astype(np.float32), np.zeros(keys.shape[1], np.float32))

    return fit


@projection_registry.add("pca")
def pca(dimensions: int = 32) -> Callable[[Float32s], Projection]:
    """The directions in which all clients' keys together vary most; `pca:16` makes keys of 16 numbers."""

    def fit(keys: Float32s) -> Projection:
        length = _check_dimensions(dimensions, keys)
        center = keys.mean(axis=0, dtype=np.float64) if len(keys) else np.zeros(keys.shape[1])
        gaps = keys - center
        _, directions = np.linalg.eigh(gaps.T @ gaps)
        return Projection(directions[:, ::-1].T[:length].astype(np.float32), center.astype(np.float32))

    return fit


def _check_dimensions(dimensions: int, keys: Float32s) -> int:
    if not 1 <= dimensions <= keys.shape[1]:
        raise ConfigError(
            f"keys of length {keys.shape[1]} cannot be projected to {dimensions} numbers; give 1 to "
            f"{keys.shape[1]}."
        )
    return int(dimensions)
