"""JAX start-up: number of devices, and the persistent compilation cache.

On a CPU, every core becomes one XLA device, and each walks over its own clients. This must be decided
before JAX starts, so importing Unalike does it. JAX takes most of a second to import, so it is told by
environment variables, unless it is there already; if it was already running, its devices are taken as they
are.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import platformdirs


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cache_folder() -> Path:
    """Where this platform keeps what Unalike can make or fetch again: compiled programs and data sets."""
    return platformdirs.user_cache_path("unalike")


def set_up_jax() -> None:
    """One device per core and a compilation cache on disk, unless the user chose otherwise."""
    if "jax" in sys.modules:
        return _configure()
    wanted = os.environ.get("UNALIKE_CORES")
    if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        if wanted is not None:
            os.environ["JAX_NUM_CPU_DEVICES"] = wanted
        os.environ.setdefault("JAX_NUM_CPU_DEVICES", str(cores()))
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        for name, value in _cache_settings().items():
            os.environ[f"JAX_{name.upper()}"] = str(value)
    return None


def _configure() -> None:
    """The same for a JAX that was imported first."""
    import jax

    if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        try:
            jax.config.update("jax_num_cpu_devices", int(os.environ.get("UNALIKE_CORES", cores())))
        except RuntimeError:
            return  # JAX is already running: its devices are taken as they are
    if jax.config.values.get("jax_compilation_cache_dir") is None:
        for name, value in _cache_settings().items():
            jax.config.update(f"jax_{name}", value)


def _cache_settings() -> dict[str, str | float | int]:
    return {
        "compilation_cache_dir": str(cache_folder() / "xla"),
        "persistent_cache_min_compile_time_secs": 0.0,
        "persistent_cache_min_entry_size_bytes": -1,
    }
