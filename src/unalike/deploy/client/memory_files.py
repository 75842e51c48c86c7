"""Client state on disk.

In a file per job below the node's own folder, so that it survives the node. Several jobs are kept: a server
that goes back to its checkpoint, or rejects a result, says after which job the client should be as it was.
"""

from __future__ import annotations

from pathlib import Path

from ...runs import load_tensors, restore, save_tensors
from ...typing import Memory, PyTree

_PREFIX, _SUFFIX = "after-job-", ".safetensors"


class MemoryFiles:
    """The memories of one client in one run, by the job that left them."""

    def __init__(self, folder: Path, run: str) -> None:
        self._folder = folder / "memories" / run

    def load(self, job: int, template: Memory) -> PyTree | None:
        """What the client remembered after a job, if that is still known."""
        path = self._path(job)
        return restore(template, load_tensors(path)[0]) if path.exists() else None

    def save(self, job: int, memory: Memory) -> None:
        """The client remembers this after a job; later ones were of a run that was taken back."""
        save_tensors(self._path(job), memory)
        for later in (known for known in self.jobs() if known > job):
            self._path(later).unlink(missing_ok=True)

    def forget_before(self, job: int) -> None:
        """No server will go back to before this job."""
        for known in self.jobs()[:-1]:
            if known < job:
                self._path(known).unlink(missing_ok=True)

    def jobs(self) -> list[int]:
        """The jobs whose memories are kept, oldest first."""
        names = (
            path.name[len(_PREFIX) : -len(_SUFFIX)] for path in self._folder.glob(f"{_PREFIX}*{_SUFFIX}")
        )
        return sorted(int(name) for name in names if name.isdecimal())

    def _path(self, job: int) -> Path:
        return self._folder / f"{_PREFIX}{job:09d}{_SUFFIX}"
