"""Flower's version check, and the isolation of its processes.

A deployment reaches a little below Flower's public surface (see `wire.py`, `control.py`, `post.py`,
`executor.py` and `launcher.py`), and what lies there may change with any minor version. So the version is
checked first.
"""

from __future__ import annotations

import os
import re
import socket
from importlib import metadata
from pathlib import Path

from ...core.extras import check_extra
from ...errors import ConfigError

SUPPORTED = "1.41"


def check_flower() -> None:
    """Nothing, if a supported Flower is installed; otherwise an error that says which one to install."""
    check_extra("flwr", "flower", "a deployment")
    version = metadata.version("flwr")
    if not is_supported(version):
        raise ConfigError(
            f"Flower {version} is installed, but deployments work with {SUPPORTED}.x; "
            f'install it with pip install "flwr=={SUPPORTED}.*".'
        )


def check_cryptography() -> None:
    """Nothing, if the package that makes keys is installed (it comes with Flower); otherwise an error."""
    check_extra("cryptography", "flower", "making keys and certificates")


def is_supported(version: str) -> bool:
    """Whether this is a version that deployments were made for.

    >>> is_supported("1.41.0"), is_supported("1.410.0"), is_supported("1.42.0")
    (True, False, False)
    """
    return version.split(".")[:2] == SUPPORTED.split(".")


def environment(folder: Path) -> dict[str, str]:
    """The environment of Flower's processes: no telemetry, no update checks, a home of their own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FLWR_")}
    return kept | {
        "FLWR_HOME": str(folder / "flower"),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
        "NO_COLOR": "1",
        "PYTHONUNBUFFERED": "1",
    }


def split_address(address: str) -> tuple[str, int]:
    """The host and the port of "host:port".

    >>> split_address("example.org:9092"), split_address("[::1]:80")
    (('example.org', 9092), ('::1', 80))
    """
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9_.-]+)):(\d{1,5})", address)
    if not found or not 0 < int(found[3]) < 65536:
        raise ConfigError(f"{address!r} is not an address; write host:port, with a port from 1 to 65535.")
    return found[1] or found[2], int(found[3])


def own_address(address: str) -> str:
    """Where a process on this machine finds a server that listens at `address`.

    >>> own_address("0.0.0.0:9092"), own_address("10.0.0.7:9092")
    ('127.0.0.1:9092', '10.0.0.7:9092')
    """
    host, port = split_address(address)
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def free_port() -> int:
    """A loopback port that nobody listens at now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
