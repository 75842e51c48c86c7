"""A progress bar for Python users, also in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .observers import TrainingInfo
from .round_report import RoundReport

if TYPE_CHECKING:
    from .run import Run


class ProgressBar:
    """An observer that shows the round, the last metrics and the time left, as `train(observer=...)`."""

    def __init__(self) -> None:
        words = TextColumn("{task.fields[words]}")
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, words)
        self._latest: dict[str, float] = {}
        self._task: Any = None

    def begin(self, about: TrainingInfo) -> None:
        """Show the bar."""
        self._task = self._progress.add_task(about.name, total=None, completed=about.done, words="")
        self._progress.start()

    def __call__(self, report: RoundReport, rounds: int) -> None:
        shown = ("train_loss", "test_loss", "test_accuracy", "test_rmse")
        self._latest |= {name: report.metrics[name] for name in shown if name in report.metrics}
        words = "  ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in self._latest.items())
        self._progress.update(self._task, total=rounds, completed=report.round, words=words)

    def end(self, run: Run | None) -> None:
        """Leave the bar as it is."""
        self._progress.stop()
