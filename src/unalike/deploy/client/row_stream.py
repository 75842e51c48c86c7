"""A node's data stream from a growing folder.

Before it trains, the node looks into its folder. Files that are ready are taken in the order of their last
change; a damaged one is skipped and tried again, one whose columns or labels are others is refused. Each is
said once. Time is the server's rounds, which go on counting from one training to the next and never turn
back, so that a server that goes on from a checkpoint does not bring back what was forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ...data import Federation
from ...data.files.growing_folder import GrowingFolder
from ...errors import ConfigError, DataError
from .arriving_rows import as_introduced, read_arrival
from .bounded_memory import BoundedMemory, make_bounded_memory

Log = Callable[[str], None]


class RowStream:
    """A node's rows: the first ones, by which it introduces itself, and those of files that appear."""

    def __init__(
        self,
        first: Federation,
        folder: GrowingFolder,
        memory: str,
        label: str | None = None,
        seed: int = 0,
        log: Log = lambda line: None,
    ) -> None:
        rule = make_bounded_memory(memory)
        if rule.needs_labels and first.classes is None:
            raise ConfigError("a balanced memory needs one class per row; use reservoir instead.")
        self._first, self._files, self._label, self._log = first, folder, label or first.target, log
        self._held = BoundedMemory(first.train, rule, seed)
        self._held.take(0, first.train.x, first.train.y)
        self._held.forget(0)
        self._run, self._clock, self._base = "", 0, 0
        self._said: dict[Path, str] = {}
        self._taken: set[Path] = set()

    def __len__(self) -> int:
        return len(self._held)

    @property
    def capacity(self) -> int:
        """Rows that there is room for: what the server is told."""
        return self._held.capacity

    @property
    def weight(self) -> float:
        """What the node counts for, beside what it would with as many rows as it told."""
        return len(self._held) / self.capacity

    def federation(self) -> Federation:
        """What is held now, padded to the capacity, beside the rows for testing."""
        return replace(self._first, train=self._held.padded())

    def look(self, run: str, round: int) -> None:
        """Take what has come, and forget what the memory's rule does not keep in this round of a run."""
        if run != self._run:
            self._base = self._clock + 1 - round if self._run else -round
            self._run = run
        self._clock = max(self._clock, self._base + round)
        for path in self._files.look():
            self._take(path)
        self._held.forget(self._clock)

    def _take(self, path: Path) -> None:
        if path in self._taken:
            self._files.settle(path)
            self._say(path, "was changed after its rows were taken; give new rows in a new file")
            return
        try:
            arrived = read_arrival(path, self._label)
        except DataError as error:
            self._say(path, f"cannot be read yet: {error}")
            return
        if not self._files.unchanged(path):
            return  # somebody writes it, so that it is not ready after all
        self._files.settle(path)
        try:
            x, y = as_introduced(arrived, self._first)
        except DataError as error:
            self._say(path, f"is refused: {error}")
            return
        self._taken.add(path)
        self._held.take(self._clock, x, y)
        self._log(f"took {len(y)} rows of {path.name}")

    def _say(self, path: Path, words: str) -> None:
        if self._said.get(path) != words:
            self._said[path] = words
            self._log(f"{path.name} {words}")

    def settle(self, path: Path) -> None:
        """The rows of this file are here already."""
        self._taken.add(path)
        self._files.settle(path)
