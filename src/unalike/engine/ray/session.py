"""Ray sessions: which Ray is used, and who shuts it down?

Ray that already runs in this process is used as it is. Otherwise the cluster that `RAY_ADDRESS` names or that
`ray start` made on this machine is joined, and where there is none, a quiet one is started here. What was
joined or started here is left when nobody needs it any more, at the latest when the process ends.
"""

from __future__ import annotations

import atexit
import logging
import os
import socket
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

from ...core.extras import import_extra
from ...core.plugins import loaded_plugins
from ...errors import ConfigError
from ...typing import Keywords

QUIET: Keywords = {
    "include_dashboard": False,
    "log_to_driver": False,
    "logging_level": logging.ERROR,
}
QUIET_WORDS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": "A worker died or was killed|Raylet is terminated|marked dead",
}
"""Settings that Ray reads from the environment when it is imported: no statistics are sent, no advice is
printed, and a dead worker is an event of the run, not a page among its results."""

_begun_here = False


def library() -> ModuleType:
    """Ray itself, which is an extra."""
    for name, value in QUIET_WORDS.items():
        os.environ.setdefault(name, value)
    return import_extra("ray", "ray", 'engine = "ray"')


def connect() -> ModuleType:
    """Ray, connected to a cluster."""
    global _begun_here
    ray = library()
    for module in loaded_plugins():
        ray.cloudpickle.register_pickle_by_value(module)  # workers do not have the user's files
    if not ray.is_initialized():
        _begin(ray)
        if not _begun_here:
            atexit.register(disconnect)
        _begun_here = True
    return ray


def disconnect() -> None:
    """Leave the cluster that :func:`connect` joined, or end the one that it started; no other."""
    global _begun_here
    if _begun_here:
        _begun_here = False
        atexit.unregister(disconnect)
        library().shutdown()


def _begin(ray: ModuleType) -> None:
    """Join a cluster, or start one. (Not `address="auto"`: that also joins what another program started for
    itself, and dies with it.)"""
    named = os.environ.get("RAY_ADDRESS")
    try:
        if named and not answers(named):
            raise ConnectionError("nobody listens there")
        # Without an address Ray finds these clusters itself, and the token that they ask for.
        _init(ray, address=None if named or _last_started() else "local")
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        where = f"at RAY_ADDRESS={named}" if named else "that was started on this machine"
        raise ConfigError(
            f"the Ray cluster {where} cannot be joined ({_first_line(error)}); start it with `ray start "
            "--head`, or use RAY_ADDRESS=local for one of your own."
        ) from None


def _last_started() -> bool:
    """Whether a cluster runs that `ray start` made or joined on this machine."""
    note = Path(os.environ.get("RAY_TMPDIR", "/tmp"), "ray", "ray_current_cluster")
    address = note.read_text().strip() if note.is_file() else ""
    return bool(address) and answers(address)


def answers(address: str) -> bool:
    """Whether somebody listens at `host:port`; Ray itself waits a minute before it gives up.

    >>> answers("127.0.0.1:1"), answers("auto")
    (False, True)
    """
    host, colon, port = address.rpartition("/")[2].rpartition(":")
    if not colon or not port.isdigit():
        return True  # Ray has names for addresses, such as auto
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError:
        return False
    return True


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _init(ray: ModuleType, **options: Any) -> None:
    with warnings.catch_warnings():
        # JAX warns of forks, but Ray's are followed by the start of another program at once.
        warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
        ray.init(**QUIET, **options)


def room(ray: ModuleType, cores: int) -> int:
    """How many workers with so many cores the cluster's machines have place for."""
    machines = [node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]]
    return sum(int(cpus // cores) for cpus in machines)
