"""Replay of client state on a Ray worker that was started again.

Every answer of a worker comes with what its clients remember after it, as an object that stays in Ray's store
and is only fetched when the worker dies. Once these objects hold as much as all memories together, one
snapshot takes their place, so that the log never grows beyond a few times what it protects.
"""

from __future__ import annotations

from dataclasses import dataclass, field

FEWEST = 16
"""Entries before a snapshot is worth it."""


@dataclass
class Log:
    """What must be told to a new worker, in order; entries are references to objects in the store.

    >>> log = Log()
    >>> for number in range(16):
    ...     log.add(f"round {number}", clients=2)
    >>> log.due
    True
    >>> log.promise("snapshot")
    >>> log.add("round 16", clients=2)
    >>> log.keep(remembering=20)
    >>> log.entries, log.due
    (['snapshot', 'round 16'], False)
    """

    entries: list[object] = field(default_factory=list)
    since: int = 0
    """Memories in the log that came after its snapshot."""
    remembering: int = 0
    """Clients in the snapshot."""
    _promised: tuple[object, int, int] | None = None

    def add(self, entry: object, clients: int) -> None:
        """So many clients remember something new."""
        self.entries.append(entry)
        self.since += clients

    @property
    def due(self) -> bool:
        """Whether a snapshot would be smaller than the log."""
        many = len(self.entries) >= FEWEST and self.since >= self.remembering
        return many and self._promised is None

    def promise(self, snapshot: object) -> None:
        """A snapshot of all entries so far is being made."""
        self._promised = (snapshot, len(self.entries), self.since)

    def keep(self, remembering: int) -> None:
        """The promised snapshot is there."""
        assert self._promised is not None
        snapshot, covered, before = self._promised
        self.entries = [snapshot, *self.entries[covered:]]
        self.since, self.remembering, self._promised = self.since - before, remembering, None

    def break_promise(self) -> None:
        """The worker died before its snapshot was there."""
        self._promised = None
