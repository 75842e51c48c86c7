"""Distance kernels of kNN voting.

A kernel turns distances into exponents, and weights are a softmax over the neighbors,

    weight_i = exp(-exponent_i / sigma) / sum_j exp(-exponent_j / sigma).

`euclid` is that of Marfoq, Neglia, Kameni, Vidal, "Personalized Federated Learning through Local
Memorization" (2022): exponent = distance. A small sigma counts the nearest row alone, a large one counts
everybody alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.registry import Registry
from ..errors import ConfigError
from ..typing import Float32s
from .neighbors import search_others

Kernel = Callable[[Any, int], Any]
"""Exponents from distances and the length of a key; plain arithmetic, for NumPy and JAX alike."""
kernel_registry: Registry[Kernel] = Registry("kernel")


@kernel_registry.add("euclid")
def euclid() -> Kernel:
    """exp(-distance / sigma)."""
    return lambda distances, dimension: distances


@kernel_registry.add("sq_over_p")
def sq_over_p() -> Kernel:
    """exp(-squared distance / (p sigma)), with p the length of a key."""
    return lambda distances, dimension: distances * distances / dimension


@kernel_registry.add("uniform")
def uniform() -> Kernel:
    """Every neighbor counts the same."""
    return lambda distances, dimension: distances * 0


def check_sigma(sigma: float | str) -> None:
    """A scale is a positive number, or "median"."""
    if sigma != "median" and not (isinstance(sigma, int | float) and sigma > 0):
        raise ConfigError(f"sigma must be a positive number or 'median', but is {sigma!r}.")


def weights(distances: Float32s, kernel: str = "euclid", sigma: float = 1.0, dimension: int = 1) -> Float32s:
    """What each neighbor counts; a row's weights sum to one.

    >>> weights(np.array([[0.0, 0.0, 1000.0]], np.float32))
    array([[0.5, 0.5, 0. ]], dtype=float32)
    """
    check_sigma(sigma)
    exponents = kernel_registry.make(kernel)(np.asarray(distances, np.float32), dimension) / np.float32(sigma)
    # The nearest one's exponent is subtracted, so that somebody always counts.
    raw = np.exp(exponents.min(axis=-1, keepdims=True, initial=np.inf) - exponents)
    return raw / np.maximum(raw.sum(axis=-1, keepdims=True), 1)


def median_sigma(keys: Float32s, k: int, kernel: str = "euclid", method: str = "auto") -> float:
    """The scale at which the median exponent of a store's own neighbors is one (1 where that is zero)."""
    distances = search_others(keys, k, method).distances
    if not distances.size:
        return 1.0
    median = float(np.median(kernel_registry.make(kernel)(distances, keys.shape[1])))
    return median if median > 0 else 1.0
