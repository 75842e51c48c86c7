"""Feature skew: clients that see the same things differently.

A skew changes the features of every client in its own way and leaves labels and sizes alone: a camera held
at an angle (Ghosh et al., "An Efficient Framework for Clustered Federated Learning", 2020), or a noisier
sensor (Li et al., "Federated Learning on Non-IID Data Silos: An Experimental Study", 2022).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..core.pixels import as_floats
from ..core.random import generator
from ..core.registry import Registry
from ..errors import ConfigError
from ..typing import Array, Float64s
from .federation import Federation, Split
from .train_test_split import PARTS

skew_registry: Registry[Federation] = Registry("skew", "skews")


@skew_registry.add("rotation")
def rotation(degrees: float = 30.0, *, federation: Federation, seed: int = 0) -> Federation:
    """Each client's images turned by an angle of its own, uniform between minus and plus `degrees`."""
    require_floats(federation, "skew 'rotation'")
    if len(federation.input_shape) not in (2, 3):
        raise ConfigError(f"skew 'rotation' needs images, not rows of shape {federation.input_shape}.")
    angles = client_angles(degrees, len(federation), seed)
    return _change(federation, lambda part, split: _rotate(split, angles))


@skew_registry.add("noise")
def noise(sigma: float = 0.1, *, federation: Federation, seed: int = 0) -> Federation:
    """Gaussian noise that grows with the client: client i of n has standard deviation `sigma` (i + 1) / n."""
    require_floats(federation, "skew 'noise'")
    levels = (sigma * np.arange(1, len(federation) + 1) / len(federation)).astype(np.float32)
    return _change(
        federation, lambda part, split: _add_noise(split, levels, generator(seed, f"noise {part}"))
    )


def client_angles(degrees: float, clients: int, seed: int) -> Float64s:
    """The angle by which `rotation` turns each client's images."""
    return generator(seed, "rotation").uniform(-degrees, degrees, clients)


def _rotate(split: Split, angles: Float64s) -> Array:
    from scipy.ndimage import rotate

    x = np.array(as_floats(split.x))
    for i in np.flatnonzero(split.sizes):
        rows = slice(split.offsets[i], split.offsets[i + 1])
        x[rows] = rotate(x[rows], angles[i], axes=(2, 1), reshape=False, order=1)
    return x


def _add_noise(split: Split, levels: Array, rng: np.random.Generator) -> Array:
    scale = levels[split.owners].reshape(-1, *[1] * (split.x.ndim - 1))
    return as_floats(split.x) + scale * rng.standard_normal(split.x.shape, dtype=np.float32)


def _change(federation: Federation, change: Callable[[str, Split], Array]) -> Federation:
    splits = {part: getattr(federation, part) for part in PARTS}
    changed = {part: replace(split, x=change(part, split)) for part, split in splits.items()}
    return replace(federation, **changed)


def require_floats(federation: Federation, what: str) -> None:
    """Raise where features are symbols, for `what` changes numbers."""
    if as_floats(federation.train.x[:1]).dtype.kind != "f":
        raise ConfigError(f"{what} needs numbers as features, not symbols such as characters.")
