"""Features of small images that need no training.

Whitened random patches, compared with every place of a picture and averaged over its quarters, make classes
nearly linear, at a small part of what a convolutional network costs (Coates and Ng, "The Importance of
Encoding Versus Training with Sparse Coding and Vector Quantization", 2011).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unalike.core.random import generator
from unalike.typing import Array

PATCH = 6


class Encoder(NamedTuple):
    """Whitened random patches as filters, both signs, averaged over quarters of the image.

    feature(x)  =  mean over a quarter of  max(0, +-filter . whiten(patch of x) - 1)
    """

    center: Array
    filters: Array
    mean: Array
    spread: Array

    @classmethod
    def of(cls, images: Array, filters: int = 64, seed: int = 0) -> Encoder:
        """Filters, and the features' mean and spread, of some images."""
        every = patches(images).reshape(-1, PATCH * PATCH * images.shape[-1])
        some = every[generator(seed, "patches").permutation(len(every))[:20_000]]
        center = some.mean(axis=0)
        values, vectors = np.linalg.eigh(np.cov((some - center).T))
        whiten = (vectors / np.sqrt(np.maximum(values, 0) + 0.1)) @ vectors.T
        found = (some[:filters] - center) @ whiten
        found = whiten @ (found / np.linalg.norm(found, axis=1, keepdims=True)).T
        raw = cls(center, found.astype(np.float32), np.zeros(1, np.float32), np.ones(1, np.float32))
        seen = raw(images)
        return raw._replace(mean=seen.mean(axis=0), spread=seen.std(axis=0) + np.float32(1e-6))

    def __call__(self, images: Array) -> Array:
        """The features of images, some hundreds at a time."""
        pieces = [self._some(images[first : first + 500]) for first in range(0, len(images), 500)]
        return (np.concatenate(pieces) - self.mean) / self.spread

    def _some(self, images: Array) -> Array:
        said = (patches(images) - self.center) @ self.filters
        both = np.concatenate([np.maximum(sign * said - 1, 0) for sign in (1, -1)], axis=-1)
        n, side = len(both), both.shape[1] // 2
        return both.reshape(n, 2, side, 2, side, -1).mean(axis=(2, 4)).reshape(n, -1)


def patches(images: Array) -> Array:
    """Every second square of six by six pixels, with mean 0 and about unit contrast.

    >>> patches(np.zeros((1, 32, 32, 3), np.uint8)).shape
    (1, 14, 14, 108)
    """
    windows = np.lib.stride_tricks.sliding_window_view(images, (PATCH, PATCH), axis=(1, 2))[:, ::2, ::2]
    rows = windows.reshape(*windows.shape[:3], -1).astype(np.float32)
    rows -= rows.mean(axis=-1, keepdims=True)
    return rows / np.sqrt(rows.var(axis=-1, keepdims=True) + 10)
