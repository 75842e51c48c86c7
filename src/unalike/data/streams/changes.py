"""Changes of concepts: labels swapped, features rotated.

A change maps a row (x, y) to another: `label-swap` changes p(y | x) and leaves p(x) alone (real drift),
`feature-rotation` moves p(x) (Gama et al., "A survey on concept drift adaptation", 2014, section 2).
"""

from __future__ import annotations

import numpy as np

from ...core.registry import Registry
from ...errors import ConfigError
from ...typing import Array, Bools
from ..federation import Federation


class Change:
    """A map of rows; each says what it does to :meth:`features` or to :meth:`labels`."""

    def begin(self, federation: Federation) -> None:
        """Get ready for such rows, or refuse them."""

    def features(self, x: Array) -> Array:
        """The features of rows after the change."""
        return x

    def labels(self, y: Array) -> Array:
        """The labels of rows after the change."""
        return y

    def apply(self, x: Array, y: Array, where: Bools) -> tuple[Array, Array]:
        """Rows of which some are changed; those that were given stay as they are."""
        if not where.any():
            return x, y
        x, y = x.copy(), y.copy()
        x[where], y[where] = self.features(x[where]), self.labels(y[where])
        return x, y


change_registry: Registry[Change] = Registry("change", "changes")


@change_registry.add("label-swap")
class LabelSwap(Change):
    """Classes 0 and 1 change places, 2 and 3, and so on; of an odd number, the last stays."""

    def begin(self, federation: Federation) -> None:
        if federation.classes is None:
            raise ConfigError("label-swap needs classes; a regression can have the drift feature-rotation.")
        self._classes = federation.classes

    def labels(self, y: Array) -> Array:
        swapped = y ^ 1
        return np.where(swapped < self._classes, swapped, y)


@change_registry.add("feature-rotation")
class FeatureRotation(Change):
    """Square images turn by 90 degrees and others by 180; of vectors, neighbors (a, b) become (-b, a)."""

    def begin(self, federation: Federation) -> None:
        x = federation.train.x
        if x.ndim not in (2, 3, 4) or (x.ndim == 2 and x.dtype.kind != "f"):
            raise ConfigError("feature-rotation needs images or vectors of numbers; use label-swap instead.")

    def features(self, x: Array) -> Array:
        if x.ndim > 2:
            return np.rot90(x, 1 if x.shape[1] == x.shape[2] else 2, axes=(1, 2))
        turned, paired = x.copy(), x.shape[1] // 2 * 2
        turned[:, 0:paired:2], turned[:, 1:paired:2] = -x[:, 1:paired:2], x[:, 0:paired:2]
        return turned
