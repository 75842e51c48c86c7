"""Overview of run folders: list, compare, delete.

A run is finished, running (a process holds its lock), forgetting clients, interrupted, unsealed, or damaged,
when its record cannot be read or a file is not as it was sealed. Looking at a run changes nothing of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from ..core.run_files import BESIDE, CHECKPOINTS, CONFIG, OURS, RECORD, SEAL
from ..errors import RunError, UnalikeError
from ..models.metrics import metric_columns
from ..typing import Document
from .configuration import read_config
from .lock import is_locked, lock_folder
from .record import Record
from .sealed_files import verify

FINISHED, RUNNING, INTERRUPTED, DAMAGED = "finished", "running", "interrupted", "damaged"
UNSEALED = "unsealed"
"""Nothing says whether its files are those that were written."""
FORGETTING = "forgetting"
"""Clients are being forgotten, and that is not finished."""


@dataclass(frozen=True)
class RunFacts:
    """What is known of a run from its folder."""

    folder: Path
    state: str
    config: Document
    rounds: int = 0
    metrics: Mapping[str, float] | None = None
    """The last value of everything that was measured."""
    forgotten: int = 0
    """How many of its clients were forgotten."""

    @property
    def asked(self) -> int | None:
        """The rounds that were asked for, where a number was."""
        return self.config.get("rounds")

    @property
    def method(self) -> str:
        """What was trained; of a run that was made in Python the folder does not say."""
        return str(self.config.get("algorithm", self.config.get("made_by", "")))

    @property
    def judged(self) -> str | None:
        """The metric that judges it, where one was measured."""
        names = list(self.metrics or {})
        return next(iter([*metric_columns(names), *(n for n in names if n == "test_loss")]), None)

    @property
    def changed(self) -> datetime:
        """When something was last written."""
        return datetime.fromtimestamp((self.folder / RECORD).stat().st_mtime).astimezone()

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return size_of(path for path in self.folder.rglob("*"))

    def as_dict(self) -> Document:
        """For machines."""
        facts = {**asdict(self), "folder": str(self.folder), "method": self.method, "asked": self.asked}
        return {**facts, "changed": self.changed.isoformat(timespec="seconds"), "bytes": self.size}


def find_runs(folder: Path) -> list[Path]:
    """The folders of runs in a folder, however deep, or the folder itself; a run has none inside."""
    if not folder.is_dir():
        raise RunError(f"there is no folder {folder}.")
    found = []
    for place, inside, files in os.walk(folder):
        if CONFIG in files and RECORD in files:
            found.append(Path(place))
            inside.clear()
        inside.sort()
    return found


def look_at(folder: Path) -> RunFacts:
    """What a run's folder tells."""
    try:
        state = None if (folder / SEAL).is_file() else UNSEALED
        if state is None:
            verify(folder)
        config = {name: value for name, value in read_config(folder / CONFIG).items() if name not in BESIDE}
        with Record(folder / RECORD, read_only=True) as record:
            columns, words = record.metrics(), record.meta()
    except UnalikeError:
        return RunFacts(folder, DAMAGED, {})
    seen = {name: values[np.isfinite(values)] for name, values in columns.items() if name != "round"}
    last = {name: float(values[-1]) for name, values in seen.items() if len(values)}
    stopped = FORGETTING if words.get("forgetting") == "true" else INTERRUPTED
    finished = words.get("finished") == "true"
    state = state or (RUNNING if is_locked(folder) else FINISHED if finished else stopped)
    rounds, forgotten = int(columns["round"].max(initial=0)), int(words.get("forgotten", 0))
    return RunFacts(folder, state, config, rounds, last, forgotten)


def differing_settings(runs: list[RunFacts]) -> dict[str, list[object]]:
    """Settings that are not the same in all runs, with their values; None where one is not given."""
    names = dict.fromkeys(name for run in runs for name in run.config)
    found = {name: [run.config.get(name) for run in runs] for name in names}
    return {name: values for name, values in found.items() if any(value != values[0] for value in values)}


@dataclass(frozen=True)
class DisposableFiles:
    """Files of a run that can go, and why."""

    run: RunFacts
    why: str
    files: tuple[Path, ...]

    @property
    def size(self) -> int:
        """Bytes that become free."""
        return size_of(self.files)

    def remove(self) -> None:
        """Delete the files, unless somebody has begun to write there, and folders that are empty then."""
        with lock_folder(self.run.folder):
            for path in self.files:
                path.unlink(missing_ok=True)
        if self.run.state == INTERRUPTED:
            (self.run.folder / "lock").unlink(missing_ok=True)
        for place, _, _ in os.walk(self.run.folder, topdown=False):
            if not any(Path(place).iterdir()):
                Path(place).rmdir()


def find_waste(run: RunFacts) -> DisposableFiles | None:
    """What of a run can go: checkpoints, when it is finished; all of it, when it was interrupted."""
    if run.state == FINISHED:
        files = tuple(sorted((run.folder / CHECKPOINTS).glob("round-*.safetensors")))
        return DisposableFiles(run, "checkpoints", files) if files else None
    if run.state == INTERRUPTED:
        ours = tuple(_files(run.folder))
        return DisposableFiles(run, f"interrupted in round {run.rounds}", ours)
    return None


def size_of(paths: Iterator[Path] | tuple[Path, ...]) -> int:
    """Bytes of files."""
    return sum(path.stat().st_size for path in paths if path.is_file())


def _files(folder: Path) -> Iterator[Path]:
    """All that a run has written, and nothing else; its configuration first, as without it it is no run."""
    for pattern in OURS:
        yield from (path for path in folder.glob(pattern) if path.is_file())
