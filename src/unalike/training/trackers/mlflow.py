"""MLflow tracker; MLflow's own environment variables say where rounds are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.extras import import_extra
from ..observers import TrainingInfo
from ..round_report import RoundReport
from .base import finite_metrics, given_settings, starting, tracker_registry

if TYPE_CHECKING:
    from ..run import Run


@tracker_registry.add("mlflow")
class MLflow:
    """A run of MLflow in `experiment` (unalike unless given), with settings and metrics."""

    def __init__(self, experiment: str = "unalike") -> None:
        self._library = import_extra("mlflow", "mlflow", "track = mlflow")
        with starting("MLflow"):  # now, so that a store that cannot be opened leaves no run behind
            self._library.set_experiment(experiment)

    def begin(self, about: TrainingInfo) -> None:
        """Start a run of the same name, inside the one that is active if there is one, with the settings as
        its parameters."""
        words = {name: str(value)[:500] for name, value in given_settings(about.words).items()}
        with starting("MLflow"):
            self._library.start_run(run_name=about.name, nested=self._library.active_run() is not None)
            self._library.log_params(words)

    def __call__(self, report: RoundReport, rounds: int) -> None:
        self._library.log_metrics(finite_metrics(report.metrics), step=report.round)

    def end(self, run: Run | None) -> None:
        """End the run, as failed where training was."""
        self._library.end_run("FINISHED" if run is not None else "FAILED")
