"""XLA devices and the sharding mesh.

On a CPU, every core is one device (set by `core/jax_startup.py` before JAX starts), and each walks over its
own clients.
"""

from __future__ import annotations

from functools import lru_cache

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ...errors import ConfigError

AXIS = "cores"


@lru_cache(maxsize=4)
def mesh(devices: int | None = None) -> Mesh:
    """The first `devices` devices (all by default) in a row."""
    available = jax.devices()
    if devices is not None and not 1 <= devices <= len(available):
        raise ConfigError(
            f"devices must be between 1 and {len(available)} on this machine, but is {devices}."
        )
    return Mesh(np.array(available[:devices]), (AXIS,))


def everywhere(mesh: Mesh) -> NamedSharding:
    """The whole array on every device."""
    return NamedSharding(mesh, PartitionSpec())
