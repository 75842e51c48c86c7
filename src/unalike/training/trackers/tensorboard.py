"""TensorBoard tracker, by tensorboardX, which needs no TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.extras import import_extra
from ..observers import TrainingInfo
from ..round_report import RoundReport
from .base import finite_metrics, given_settings, tracker_registry

if TYPE_CHECKING:
    from ..run import Run


@tracker_registry.add("tensorboard")
class TensorBoard:
    """TensorBoard's event files, in tensorboard/RUN below `folder` (`runs` unless given)."""

    def __init__(self, folder: str = "runs") -> None:
        self._folder = Path(folder) / "tensorboard"
        self._library = import_extra("tensorboardX", "tensorboard", "track = tensorboard")
        self._writer: Any = None

    def begin(self, about: TrainingInfo) -> None:
        """Open a writer under the run's name, and show its settings."""
        self._writer = self._library.SummaryWriter(str(self._folder / about.name))
        lines = [f"    {name} = {value}" for name, value in given_settings(about.words).items()]
        self._writer.add_text("settings", "\n".join(lines), about.done)

    def __call__(self, report: RoundReport, rounds: int) -> None:
        for name, value in finite_metrics(report.metrics).items():
            self._writer.add_scalar(name, value, report.round)

    def end(self, run: Run | None) -> None:
        """Write what is waiting."""
        if self._writer is not None:
            self._writer.close()
