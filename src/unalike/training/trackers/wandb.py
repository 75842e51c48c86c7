"""Weights & Biases tracker; it uploads to a server unless WANDB_MODE=offline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.extras import import_extra
from ..observers import TrainingInfo
from ..round_report import RoundReport
from .base import finite_metrics, given_settings, starting, tracker_registry

if TYPE_CHECKING:
    from ..run import Run


@tracker_registry.add("wandb")
class WeightsAndBiases:
    """A run of Weights & Biases in `project` (unalike unless given), with settings and metrics."""

    def __init__(self, project: str = "unalike") -> None:
        self._library = import_extra("wandb", "wandb", "track = wandb")
        self._project = project
        self._run: Any = None
        with starting("Weights & Biases"):  # now, so that a missing key leaves no run behind
            self._library.login()

    def begin(self, about: TrainingInfo) -> None:
        """Start a run of the same name, with the settings as its configuration."""
        words = given_settings(about.words)
        with starting("Weights & Biases"):
            self._run = self._library.init(project=self._project, name=about.name, config=words)

    def __call__(self, report: RoundReport, rounds: int) -> None:
        self._run.log(finite_metrics(report.metrics), step=report.round)

    def end(self, run: Run | None) -> None:
        """Finish the run, as failed where training was."""
        if self._run is not None:
            self._run.finish(exit_code=0 if run is not None else 1)
