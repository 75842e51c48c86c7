"""Observers of a training: progress bars, logs, experiment trackers.

An observer is called after every round with what happened and how many rounds are expected; that is all that
a progress bar or a log needs. One that opens and closes something may also have

    begin(about)     before the first round: what is trained, in words, and the folder, if there is one
    end(run)         after the last one; None where training ended in an error or by Ctrl-C
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..typing import Document
from .round_report import RoundReport

if TYPE_CHECKING:
    from .run import Run

Observer = Callable[[RoundReport, int], None]
"""Called after every round with what happened and the total number of rounds."""
Watching = Observer | Sequence[Observer] | None
"""One observer, several, or none."""


class TrainingInfo(NamedTuple):
    """What observers are told before the first round."""

    name: str
    """What the run is called."""
    words: Document
    """The settings of the experiment, as far as there are words for them."""
    folder: Path | None
    done: int
    """Rounds that were trained before, where a run goes on."""


class Observers:
    """Several observers as one.

    >>> seen = []
    >>> both = Observers([lambda report, rounds: seen.append(report.round), None])
    >>> both(RoundReport(3, {}), 10)
    >>> seen
    [3]
    """

    def __init__(self, given: Watching | Sequence[Observer | None]) -> None:
        several = given if isinstance(given, list | tuple) else [given]
        self.several: tuple[Any, ...] = tuple(one for one in several if one is not None)

    def __call__(self, report: RoundReport, rounds: int) -> None:
        for observer in self.several:
            observer(report, rounds)

    @contextmanager
    def watching(self, about: TrainingInfo) -> Iterator[list[Run]]:
        """Begin and end; the run is put into the list when there is one."""
        made: list[Run] = []
        begun: list[Any] = []
        try:
            for observer in self.several:
                if hasattr(observer, "begin"):
                    observer.begin(about)
                begun.append(observer)
            yield made
        finally:
            for observer in begun:
                if hasattr(observer, "end"):
                    observer.end(made[0] if made else None)
