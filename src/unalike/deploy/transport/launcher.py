"""The executor and app that run inside Flower's child processes.

This file is a script of its own (it imports nothing of Unalike, so that Flower's processes stay small): it
ends the process when the owner is gone, puts the gate in front of a SuperLink, and then calls Flower's own
entry point.

    launcher.py superlink FOLDER LARGEST_REQUEST VERSION [Flower's arguments]
    launcher.py supernode SECONDS_BETWEEN_PULLS [Flower's arguments]
"""

from __future__ import annotations

import importlib.util
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import access_control

_SOON = 0.2  # seconds between two looks for messages while they come
_AT_ONCE = 0.05  # and between two looks for what this machine is about to have
_LONGEST_RETRY = 5  # seconds between two attempts to reach a link that does not answer


def follow_owner() -> None:
    """End this process when its standard input closes, as the operating system does when the owner ends."""
    threading.Thread(target=_wait_for_owner, daemon=True).start()


def _wait_for_owner() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(2)  # connections of nodes that do not answer would keep it open
    os._exit(1)


def _gate() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "access_control", Path(__file__).with_name("access_control.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["access_control"] = module
    spec.loader.exec_module(module)
    return module


def superlink(folder: str, largest: str, version: str) -> None:
    """Flower's SuperLink behind the gate, whose files are in the folder."""
    from flwr.supercore.corestate.sql_corestate import SqlCoreState
    from flwr.superlink import main
    from flwr.superlink.cli.flower_superlink import flower_superlink

    gate = access_control if TYPE_CHECKING else _gate()  # types of the module that is loaded by its path
    place = Path(folder)
    audit_log, allow_list = gate.AuditLog(place / gate.REFUSALS), gate.AllowList(place / gate.GUESTS)
    door = gate.AdmissionGate(place / gate.CLOSED)
    gate.notice_handshakes(audit_log)
    create_app = main.create_app
    secret = (place / gate.SECRET).read_bytes()

    def guarded(*arguments: Any) -> Any:
        return gate.AccessControl(
            create_app(*arguments), audit_log, allow_list, door, secret, int(largest), version
        )

    main.create_app = guarded  # type: ignore[assignment]
    # Flower looks for tasks that are dead, and writes to its database, whenever it is asked about a run.
    name = "_cleanup_expired_task_tokens"
    setattr(SqlCoreState, name, seldom(getattr(SqlCoreState, name)))
    flower_superlink()


def seldom(work: Callable[[Any], None], pause: float = 1.0) -> Callable[[Any], None]:
    """The same work, left out where it was done within the last `pause` seconds."""
    latest = -math.inf

    def now_and_then(self: Any) -> None:
        nonlocal latest
        if time.monotonic() - latest >= pause:
            latest = time.monotonic()
            work(self)

    return now_and_then


class ShortSleep:
    """The module `time` of a SuperNode, which naps between two looks for messages and while its app works.

    The first nap is a request to the link each time; the second only a look into its own memory. Messages
    come in quick succession while a training goes on: the next look is after a tenth of the time in which
    nothing came, so that the waiting adds little to what was waited for, and idle nodes ask seldom.
    """

    def __init__(self, between_pulls: float) -> None:
        self._between_pulls = between_pulls
        self._latest = -math.inf

    def message_came(self) -> None:
        """The next messages are looked for soon."""
        self._latest = time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Sleep at most a moment: Flower would wait for seconds."""
        time.sleep(min(seconds, self.between_looks()) if seconds > 1 else _AT_ONCE)

    def between_looks(self) -> float:
        """Seconds until messages are looked for again."""
        return min(max(_SOON, (time.monotonic() - self._latest) / 10), self._between_pulls)

    def __getattr__(self, name: str) -> Any:
        """Everything else of the module."""
        return getattr(time, name)


def supernode(seconds: str) -> None:
    """Flower's SuperNode, looking for messages at least this often (by itself it would sleep for three
    seconds)."""
    from flwr.supercore.inflatable.inflatable_utils import pull_objects
    from flwr.supercore.retry import http_retry
    from flwr.supernode import start_client_internal
    from flwr.supernode.cli.flower_supernode import flower_supernode

    impatient = ShortSleep(float(seconds))

    def pull_soon(*arguments: Any, **options: Any) -> Any:
        # A message is announced before all its parts are there; then, too, Flower would wait for a second.
        impatient.message_came()
        return pull_objects(*arguments, **options, initial_backoff=_AT_ONCE)

    start_client_internal.time = impatient  # type: ignore[assignment,attr-defined]
    start_client_internal.pull_objects = pull_soon  # type: ignore[attr-defined]
    http_retry.MAX_RETRY_DELAY = _LONGEST_RETRY  # type: ignore[attr-defined]
    flower_supernode()


if __name__ == "__main__":
    follow_owner()
    role, own = (superlink, 3) if sys.argv[1] == "superlink" else (supernode, 1)
    given, rest = sys.argv[2 : 2 + own], sys.argv[2 + own :]
    sys.argv = [f"flower-{sys.argv[1]}", *rest]
    role(*given)
