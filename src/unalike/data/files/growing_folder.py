"""Watching a growing folder: which files are new and completely written?

Nobody tells when a file is complete. One is ready when its size and the time of its last change were the same
at two looks that are some seconds apart; whoever writes elsewhere and renames the file into the folder is
safe whatever the pace. A file whose name begins with a dot is never looked at.
"""

from __future__ import annotations

import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from .client_files import client_paths

SETTLED = 1.0
"""Seconds between two looks at which a file must be the same."""


class _FileState(NamedTuple):
    """What a file was like at a look."""

    size: int
    changed: int
    """When it was last changed, in nanoseconds."""
    since: float
    """When it was first seen like this."""

    def like(self, other: _FileState | None) -> bool:
        """Whether nothing has changed between two looks."""
        return other is not None and (self.size, self.changed) == (other.size, other.changed)


class GrowingFolder:
    """The client files of a folder as they appear, each one until it is :meth:`settle`-d."""

    def __init__(
        self, folder: Path, settled: float = SETTLED, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.folder, self._settled, self._clock = folder, settled, clock
        self._seen: dict[Path, _FileState] = {}
        self._done: dict[Path, _FileState] = {}

    def look(self) -> list[Path]:
        """Files that are ready and that nobody has settled, the oldest first."""
        now = self._clock()
        before, self._seen = self._seen, {}
        ready = []
        for path in client_paths(self.folder):
            found = _look_at(path, now)
            if found is None:
                continue
            known = before.get(path)
            same = known is not None and found.like(known)
            self._seen[path] = known if same and known is not None else found
            settled = same and now - self._seen[path].since >= self._settled
            if settled and not found.like(self._done.get(path)):
                ready.append(path)
        return sorted(ready, key=lambda path: (self._seen[path].changed, path.name))

    def settle(self, path: Path) -> None:
        """A file as it is now needs no further look; one that is changed afterwards is ready again."""
        self._done[path] = self._seen[path]

    def unchanged(self, path: Path) -> bool:
        """Whether a file is still what it was at the last look."""
        found = _look_at(path, 0.0)
        return found is not None and found.like(self._seen.get(path))


def _look_at(path: Path, now: float) -> _FileState | None:
    """What a plain file is like; None for anything else, and for one that is gone already."""
    try:
        found = path.stat()
    except OSError:
        return None
    if path.name.startswith(".") or not stat.S_ISREG(found.st_mode):
        return None
    return _FileState(found.st_size, found.st_mtime_ns, now)
