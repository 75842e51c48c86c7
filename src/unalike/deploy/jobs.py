"""Jobs of remote clients: which results have arrived, and when?

The same questions that a simulated :class:`Jobs` answers, so every timing policy works on arrivals as they
happen: ticks are milliseconds, a job is sent when it begins, and its result is ready when it is here. A
client that is away, fails or does not answer in time loses its job.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from ..timing import Jobs
from ..typing import Array, ClientIds, Message, PyTree
from .transport.mailbox import PAUSE


class JobTransport(Protocol):
    """What a jobs needs of an engine."""

    def send_jobs(self, clients: ClientIds, version: int, message: Message) -> list[int]:
        """Let clients train; returns who is away."""

    def finished_jobs(self) -> list[tuple[int, bool]]:
        """Clients whose jobs ended since last asked, and whether with a result."""

    def abandon(self, clients: ClientIds) -> None:
        """Nobody waits for these clients' results any more."""


class RemoteJobs(Jobs):
    """Jobs of real clients."""

    def __init__(self, clients: int, requests: JobTransport, messages: Callable[[int], PyTree]) -> None:
        super().__init__(None, clients)  # type: ignore[arg-type]
        self._transport, self._messages = requests, messages
        self._running: set[int] = set()
        self._began = time.monotonic()

    def __len__(self) -> int:
        return len(self._running) + len(self._queue)

    def clock(self) -> int:
        """Milliseconds of training so far."""
        return round(1000 * (time.monotonic() - self._began))

    def send(self, clients: ClientIds, version: int, now: int) -> None:
        """Send the model of a version to clients that do not work."""
        if not len(clients):
            return
        away = self._transport.send_jobs(clients, version, self._messages(version))
        self._begin(clients, version, self.clock())
        self.begun[clients] = version + 1  # a job is called by its round, as in synchronous simulations
        self.given_up[clients] = False
        self._running.update(clients.tolist())
        for client in away:
            self._note_end(client, False)

    def first(self, until: int | None = None) -> int:
        """Wait for the next result, but not longer than `until`."""
        while not self._queue:
            self._look()
            if self._queue or (until is not None and self.clock() > until):
                break
            self.pause(PAUSE)
        return self._queue[0][0] if self._queue else self.clock()

    def time(self, now: int) -> int:
        """Evaluations and sending take time, too, which is not the clients' to wait."""
        return max(now, self.clock())

    def sleep(self, until: int) -> None:
        """Wait until the clock says so; results that come meanwhile are noticed."""
        while self.clock() < until:
            self._look()
            self.pause(min(PAUSE, max(0.0, (until - self.clock()) / 1000)))

    def cancel(self, clients: ClientIds) -> None:
        super().cancel(clients)
        self._transport.abandon(clients)
        self._running.difference_update(clients.tolist())

    def working(self) -> list[int]:
        return [*super().working(), *self._running]

    def restore(self, state: Mapping[str, Array]) -> None:
        """Jobs that were under way are lost with the server that sent them; the clock goes on."""
        super().restore(state)
        self.version[:] = -1
        self._queue, self._uses, self._running = [], {}, set()
        self._idle = set(range(len(self.version)))
        latest = max(int(self.ready.max(initial=0)), int(state.get("now", 0)))
        self._began = time.monotonic() - latest / 1000

    def _look(self) -> None:
        for client, well in self._transport.finished_jobs():
            self._note_end(client, well)

    def _note_end(self, client: int, well: bool) -> None:
        if client not in self._running:
            return
        self._running.discard(client)
        self.ready[client], self.given_up[client] = self.clock(), not well
        heapq.heappush(self._queue, (int(self.ready[client]), client))
