"""Package versions of a run."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from .. import __version__

_PACKAGES = ("jax", "numpy", "optax")


def versions() -> dict[str, str]:
    """The versions on which the numbers of a run may depend.

    >>> sorted(versions())
    ['jax', 'numpy', 'optax', 'platform', 'python', 'unalike']
    """
    found = {"unalike": __version__, **{package: _version(package) for package in _PACKAGES}}
    return {**found, "python": platform.python_version(), "platform": platform.platform()}


def changes(before: dict[str, str], now: dict[str, str]) -> dict[str, tuple[str, str]]:
    """What is not as it was: bit-identical resumption is promised only when this is empty.

    >>> changes({"jax": "0.10.1", "numpy": "2.4.6"}, {"jax": "0.10.2", "numpy": "2.4.6"})
    {'jax': ('0.10.1', '0.10.2')}
    """
    return {
        name: (before[name], now[name]) for name in sorted(before.keys() & now) if before[name] != now[name]
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
