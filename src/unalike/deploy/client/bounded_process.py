"""A node's request in a process of its own, with limits on time and memory.

The process that talks to the server does not compute: requests are answered in a forked process, which is
ended when it takes longer or more memory than the owner allows, and is then forked anew. A signal to the
node is handled at once, whatever is computed. Where processes cannot be forked safely (Windows, macOS),
requests are answered in the node's own process, without limits.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import RunError, UnalikeError
from ..client_config import PROTOCOL
from ..transport.messages import WireMessage

Answers = Callable[[WireMessage], WireMessage]
_OFTEN = 0.02
_MEGABYTE = 1 << 20
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class RequestLimits:
    """What one request may take.

    Args:
        seconds: The longest time that a request is worked on.
        megabytes: The largest resident memory of the process that answers; None sets no limit. Read from
            `/proc`, so on Linux only.
    """

    seconds: float = 600.0
    megabytes: int | None = None


class _Failure(NamedTuple):
    """An exception of the process that answers: its type, and its traceback for the node's own log."""

    kind: str
    details: str


class BoundedProcess:
    """Answers requests in a process of its own.

    Args:
        answer: The function that answers. It is called in a forked process, which sees what this process
            held when it was forked; anything that must outlive the process belongs in files.
        limits: The owner's limits for each request.
        stop: When this is set, a request under way is given up.
        log: Where to report requests that were given up.
    """

    def __init__(
        self, answer: Answers, limits: RequestLimits, stop: threading.Event, log: Callable[[str], None]
    ) -> None:
        self._answer, self._limits, self._stop, self._log = answer, limits, stop, log
        self._process: BaseProcess | None = None
        if can_fork():
            self._start()

    def __call__(self, request: WireMessage) -> WireMessage:
        """The answer to a request, or a refusal where it takes too much."""
        if not can_fork():
            return self._answer(request)
        if self._process is None or not self._process.is_alive():
            self._start()
        began = time.monotonic()
        try:
            self._connection.send(request)
            while not self._connection.poll(_OFTEN):
                if (reason := self._exceeded(time.monotonic() - began)) is not None:
                    return self._refuse(request, reason)
            found = self._connection.recv()
        except (EOFError, OSError):  # the process is gone, for example for want of memory
            return self._refuse(request, "the process that worked on it ended")
        if isinstance(found, _Failure):
            self._log(f"the app raised {found.details}")
            raise RunError(f"the node's app raised {found.kind}; the node's log says more.")
        if not isinstance(found, WireMessage):
            return self._refuse(request, "its answer cannot be read")
        return found

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None

    def _start(self) -> None:
        self.close()
        for stream in (sys.stdout, sys.stderr):  # what waits there would be printed twice
            stream.flush()
        forking: Any = multiprocessing.get_context("fork")
        self._connection, other = forking.Pipe()
        target = (self._answer, other, self._connection, os.getpid())
        self._process = forking.Process(target=_answer_requests, args=target, daemon=True)
        self._process.start()
        other.close()

    def _exceeded(self, seconds: float) -> str | None:
        if self._stop.is_set():
            self.close()
            raise RunError("the node stops.")
        assert self._process is not None
        if seconds > self._limits.seconds:
            return f"it takes longer than {self._limits.seconds:g} seconds (--time-limit)"
        limit = self._limits.megabytes
        if limit is not None and resident_megabytes(self._process.pid or 0) > limit:
            return f"it takes more than {limit} MB of memory (--memory-limit)"
        return None

    def _refuse(self, request: WireMessage, reason: str) -> WireMessage:
        self.close()
        self._log(f"gave up a request of kind {ascii(request.kind)[:80]}: {reason}")
        return WireMessage(
            "refusal", {"reason": f"this node gave up the request: {reason}.", "protocol": PROTOCOL}
        )


def can_fork() -> bool:
    """Whether this operating system forks processes."""
    return "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"


def half_of_memory() -> int | None:
    """Half of this machine's memory in megabytes, where the operating system tells it."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // _MEGABYTE // 2
    except (AttributeError, ValueError, OSError):
        return None


def resident_megabytes(process: int) -> float:
    """The resident memory of a process; 0 where it is not known."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / _MEGABYTE


def _answer_requests(answer: Answers, connection: Connection, owners: Connection, owner: int) -> None:
    """Answer what comes, until the owner is gone."""
    owners.close()  # or the end of the owner would not be seen
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _end_with(owner)
    # Processes that are forked one after the other must not draw the same noise.
    random.seed(os.urandom(32))
    np.random.seed(np.frombuffer(os.urandom(32), np.uint32))
    with contextlib.suppress(EOFError, OSError):
        while True:
            connection.send(_try(answer, connection.recv()))


def _try(answer: Answers, request: WireMessage) -> WireMessage | _Failure:
    try:
        return answer(request)
    except UnalikeError as error:
        return WireMessage("refusal", {"reason": str(error), "protocol": PROTOCOL})
    except Exception as error:  # a mistake of the app is no reason for the node to end
        return _Failure(type(error).__name__, "".join(traceback.format_exception(error)).strip())


def _end_with(owner: int) -> None:
    """End this process when its owner ends: by the kernel, which needs no turn of the interpreter's."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != owner:  # it ended before the kernel was asked
        os._exit(1)
