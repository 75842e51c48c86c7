"""JSON Lines tracker: rounds that any program can read while training continues."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ...core.run_files import ROUNDS
from ...errors import ConfigError
from ..observers import TrainingInfo
from ..round_report import RoundReport
from .base import finite_metrics, tracker_registry

if TYPE_CHECKING:
    from ..run import Run


@tracker_registry.add("jsonl")
class JsonLines:
    """One line of JSON per round, in rounds.jsonl of the run folder, or in `jsonl:FILE`."""

    def __init__(self, path: str | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._file: IO[str] | None = None

    def begin(self, about: TrainingInfo) -> None:
        """Open the file; a run that goes on adds to it."""
        path = self._path or (None if about.folder is None else about.folder / ROUNDS)
        if path is None:
            raise ConfigError("jsonl needs a run folder, or a file: jsonl:FILE.")
        mode = 0o600 if self._path is None else 0o666  # a file of the run is its owner's alone
        kind = os.O_APPEND if about.done else os.O_TRUNC
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | kind, mode), "w", encoding="utf-8")

    def __call__(self, report: RoundReport, rounds: int) -> None:
        assert self._file is not None, "begin comes first."
        line = {"round": report.round, **finite_metrics(report.metrics), "events": report.events}
        self._file.write(json.dumps(line, default=str) + "\n")
        self._file.flush()

    def end(self, run: Run | None) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
