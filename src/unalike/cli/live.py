"""Live progress line while a run trains, short enough for a narrow window."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

if TYPE_CHECKING:
    from ..training.round_report import RoundReport

_BAR, _CLOCK, _LONGEST_TITLE = 12, 7, 34
LOSSES = ("train_loss", "test_loss")


class LiveRounds:
    """A progress bar that shows which run this is, its round, the time left and, where there is room, losses,
    accuracy and the time so far; silent when asked."""

    def __init__(self, quiet: bool, screen: Console, other: Console, title: str = "training") -> None:
        self._progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=_BAR),
            MofNCompleteColumn(),
            _Left(),
            TextColumn("{task.fields[words]}"),
            _Elapsed(),
            console=screen,
            disable=quiet or not screen.is_terminal,
            transient=True,
        )
        self._other = other
        self._task = self._progress.add_task(_shorten(title), total=None, words="preparing", elapsed=False)
        self._latest: dict[str, float] = {}
        self._title, self._run, self._runs = title, 0, 0

    def __enter__(self) -> LiveRounds:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, report: RoundReport, rounds: int) -> None:
        self._latest |= {name: report.metrics[name] for name in format_metrics(report.metrics)}
        taken = len(_shorten(self._title)) + _BAR + 2 * len(str(rounds)) + 1 + _CLOCK + 10
        words, elapsed = fitting(self._latest, self._progress.console.width - taken)
        self._progress.update(self._task, total=rounds, completed=report.round, words=words, elapsed=elapsed)

    def say(self, words: str) -> None:
        """Print a line above the bar; on another console it would be printed into it."""
        live = not self._progress.disable and self._other.is_terminal
        (self._progress.console if live else self._other).print(words, soft_wrap=True, highlight=False)

    def expect(self, runs: int) -> None:
        """So many runs follow, which are counted."""
        self._run, self._runs = 0, runs

    def rename(self, title: str) -> None:
        """Start again under another title, which says the how-manieth run this is."""
        self._latest, self._run = {}, self._run + 1
        self._title = f"{self._run}/{self._runs} {title}" if self._runs else title
        self._progress.reset(
            self._task, description=_shorten(self._title), words="preparing", elapsed=False, total=None
        )


def format_metrics(metrics: Iterable[str]) -> list[str]:
    """What stands beside the bar: losses, then test metrics, the one that judges last; in a narrow window the
    first ones are left out.

    >>> format_metrics(["test_accuracy", "test_f1", "train_loss", "clock"])
    ['train_loss', 'test_f1', 'test_accuracy']
    """
    there = list(metrics)
    judges = [name for name in there if name.startswith("test_") and name not in LOSSES]
    return [*(name for name in LOSSES if name in there), *judges[::-1]]


def fitting(latest: Mapping[str, float], width: int) -> tuple[str, bool]:
    """The metrics that fit into a width, and whether the time so far does, too: losses go first, then that
    time, then what judges.

    >>> fitting({"train_loss": 0.5, "test_accuracy": 0.75}, 20)
    ('accuracy 0.750', False)
    """
    from ..models.metrics import label_of

    labels = {name: label_of(name) for name in format_metrics(latest)}
    labels |= {name: label.removeprefix("test ") for name, label in labels.items() if name not in LOSSES}
    words = [f"{label} {latest[name]:.3f}" for name, label in labels.items()]
    for elapsed in (1 + _CLOCK, 0):
        for first in range(len(words)):
            if len(line := "  ".join(words[first:])) + elapsed <= width and (
                elapsed or first == len(words) - 1
            ):
                return line, bool(elapsed)
    return "", width >= 1 + _CLOCK


class _Left(TimeRemainingColumn):
    """The time left, in so many words."""

    def render(self, task: Task) -> Text:
        return super().render(task).append(" left")


class _Elapsed(ProgressColumn):
    """The time so far, where there is room."""

    def __init__(self) -> None:
        super().__init__()
        self._clock = TimeElapsedColumn()

    def render(self, task: Task) -> Text:
        return self._clock.render(task) if task.fields.get("elapsed") else Text("")


def _shorten(title: str) -> str:
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"
