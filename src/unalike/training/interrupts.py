"""Interrupts (Ctrl-C).

The first one asks the loop to stop after the round at hand, so that what is saved is a whole round; the
second one stops at once.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType


class StoppedWaitingError(Exception):
    """Nobody waits any more for the step that would have come next."""


class Interrupts:
    """A context in which Ctrl-C sets `stop_requested` instead of raising; outside the main thread it does
    nothing."""

    def __init__(self) -> None:
        self.stop_requested = False
        self._before: Callable[[int, FrameType | None], object] | int | None = None

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_requested = False
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def pause(self, seconds: float) -> None:
        """Wait, but not for clients that may never answer when Ctrl-C was pressed."""
        if self.stop_requested:
            raise StoppedWaitingError
        time.sleep(seconds)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.stop_requested:
            raise KeyboardInterrupt
        self.stop_requested = True
