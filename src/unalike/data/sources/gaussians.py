"""Gaussian clouds: classification of adjustable difficulty.

Classes are Gaussian clouds around random centers; `separation` is the typical distance between a center and
the origin in units of the clouds' spread. All draws are vectorized, so millions of rows take a second or
so.
"""

from __future__ import annotations

import numpy as np

from ...core.random import generator
from ..sizes import whole
from .source import Source, check_memory, source_registry


@source_registry.add("gaussians")
def gaussians(
    classes: int = 10, dimension: int = 20, separation: float = 3.0, *, samples: int = 10_000, seed: int = 0
) -> Source:
    """Gaussian clouds, one per class; `gaussians:10,20,3` has 10 classes in 20 dimensions, 3 apart."""
    whole(classes, "the number of classes"), whole(dimension, "the dimension")
    check_memory(2 * 4 * dimension * samples)
    rng = generator(seed, "gaussians")
    centers = rng.standard_normal((classes, dimension), dtype=np.float32)
    centers *= separation / np.linalg.norm(centers, axis=1, keepdims=True)
    y = (np.arange(samples) % classes).astype(np.int32)  # classes of equal size, within one
    x = centers[y] + rng.standard_normal((samples, dimension), dtype=np.float32)
    return Source(x, y, classes, description=f"{classes} Gaussian classes in {dimension} dimensions")
