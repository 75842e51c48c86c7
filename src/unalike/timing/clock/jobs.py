"""Jobs in progress: the event queue.

A client that was sent a model works on one job until its result is ready; the server takes results when its
policy says so. A :class:`Jobs` knows all jobs, by ticks, and which versions of the model they started from.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...typing import Array, ClientIds
from .hardware import Hardware

FEW = 16
"""Up to so many clients are sent off one by one."""
CACHED = 1 << 23
"""Durations that are kept; those of everyone's j-th job are computed together."""


class Jobs:
    """Jobs of clients, one at a time each; times are ticks of the hardware times `finer`."""

    def __init__(self, hardware: Hardware, clients: int, finer: int = 1, longest: int | None = None) -> None:
        self.hardware, self.finer = hardware, finer
        self.longest = longest
        """Jobs are given up after so many ticks."""
        self.version = np.full(clients, -1, np.int64)
        """The version that each client works on, -1 for those that do not work."""
        self.started, self.ready = np.zeros(clients, np.int64), np.zeros(clients, np.int64)
        self.given_up = np.zeros(clients, np.bool_)
        """Whether each client's job takes too long, and ends without a result."""
        self.begun = np.zeros(clients, np.int64)
        """How many jobs each client has begun."""
        self._queue: list[tuple[int, int]] = []
        self._uses: dict[int, int] = {}
        self._idle: set[int] = set(range(clients))
        self._durations: dict[int, ClientIds] = {}
        self.pause: Callable[[float], None] = time.sleep
        """How to wait for real clients; raises when somebody asks to stop."""

    def __len__(self) -> int:
        return len(self._queue)

    def send(self, clients: ClientIds, version: int, now: int) -> None:
        """Clients that do not work begin a job on this version."""
        if len(clients) > FEW:
            ends = now + self._in_time(
                clients, self.finer * self.hardware.ticks(clients, self.begun[clients])
            )
            self._queue.extend(zip(ends.tolist(), clients.tolist(), strict=True))
            heapq.heapify(self._queue)
            self.ready[clients] = ends
        else:
            for client in clients.tolist():
                end = now + int(self._in_time(client, self._duration(client)))
                heapq.heappush(self._queue, (end, client))
                self.ready[client] = end
        self._begin(clients, version, now)

    def _begin(self, clients: ClientIds, version: int, now: int) -> None:
        self.begun[clients] += 1
        self._idle.difference_update(clients.tolist())
        self.version[clients], self.started[clients] = version, now
        if len(clients):
            self._uses[version] = self._uses.get(version, 0) + len(clients)

    def first(self, until: int | None = None) -> int:
        """When the next result is ready; more than `until`, if none is by then."""
        return self._queue[0][0]

    def time(self, now: int) -> int:
        """The tick at which the server begins to wait; a simulated clock stands still while it is busy."""
        return now

    def sleep(self, until: int) -> None:
        """Let time pass; a simulated clock needs none."""

    def take_one(self) -> int:
        """The client whose result is ready first (the smaller number among equals); it stops working."""
        return heapq.heappop(self._queue)[1]

    def finish(self, clients: ClientIds) -> tuple[ClientIds, ClientIds]:
        """These clients work no longer; the versions they worked on, and those that nobody works on now."""
        versions = self.version[clients]
        self.version[clients] = -1
        self._idle.update(clients.tolist())
        unused = []
        for version in versions.tolist():
            self._uses[version] -= 1
            if not self._uses[version]:
                del self._uses[version]
                unused.append(version)
        return versions, np.array(unused, np.int64)

    def cancel(self, clients: ClientIds) -> None:
        """Forget the jobs of these clients, who are still to finish."""
        gone = set(clients.tolist())
        self._queue = [(end, client) for end, client in self._queue if client not in gone]
        heapq.heapify(self._queue)

    def working(self) -> list[int]:
        """The clients whose results are still to come."""
        return [client for _, client in self._queue]

    def uses(self, version: int) -> bool:
        """Whether somebody works on this version."""
        return version in self._uses

    def idle(self) -> ClientIds:
        """The clients that do not work."""
        return np.array(sorted(self._idle), np.int64)

    def _in_time(self, clients: Any, durations: Any) -> Any:
        """Durations until a result is there or the job is given up."""
        if self.longest is None:
            return durations
        self.given_up[clients] = durations > self.longest
        return np.minimum(durations, self.longest)

    def _duration(self, client: int) -> int:
        """The next duration of one client."""
        job = 0 if self.hardware.fixed else int(self.begun[client])
        everyone = self._durations.get(job)
        if everyone is None:
            clients = np.arange(len(self.begun))
            everyone = self.finer * self.hardware.ticks(clients, np.full(len(clients), job))
            self._durations[job] = everyone
            if len(self._durations) * len(clients) > CACHED and len(self._durations) > 2:
                del self._durations[next(iter(self._durations))]
        return int(everyone[client])

    def state(self) -> dict[str, Array]:
        """Everything, as arrays."""
        return {
            "version": self.version.copy(),
            "started": self.started.copy(),
            "ready": self.ready.copy(),
            "jobs": self.begun.copy(),
            "given_up": self.given_up.copy(),
            "queue": np.array([client for _, client in sorted(self._queue)], np.int64),
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        """The inverse of :meth:`state`."""
        self.version, self.started, self.ready, self.begun, self.given_up = (
            np.array(state[name]) for name in ("version", "started", "ready", "jobs", "given_up")
        )
        self._queue = [(int(self.ready[client]), int(client)) for client in state["queue"]]
        self._idle = set(np.flatnonzero(self.version < 0).tolist())
        versions, counts = np.unique(self.version[self.version >= 0], return_counts=True)
        self._uses = dict(zip(versions.tolist(), counts.tolist(), strict=True))
