"""How many processors compute, and where do programs stay once compiled?

On a CPU, every core becomes one XLA device, and each walks over its own clients. This must be decided
before JAX starts, so importing Unalike does it; if JAX was already running, its devices are taken as they
are.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ..errors import ConfigError

AXIS = "cores"


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_up() -> None:
    """One device per core and a compilation cache on disk, unless the user chose otherwise."""
    if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        try:
            jax.config.update("jax_num_cpu_devices", int(os.environ.get("UNALIKE_CORES", cores())))
        except RuntimeError:
            return  # JAX is already running: its devices are taken as they are
    if jax.config.values.get("jax_compilation_cache_dir") is None:
        jax.config.update("jax_compilation_cache_dir", str(cache_folder() / "xla"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def cache_folder() -> Path:
    """Where Unalike keeps compiled programs."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "unalike"


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
