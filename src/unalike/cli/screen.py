"""What does a person see while a run goes on, and when it ends?"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

if TYPE_CHECKING:
    from ..rounds import RoundReport
    from ..run import Run

console = Console()
errors = Console(stderr=True)
SHOWN = {
    "train_loss": "train loss",
    "test_loss": "test loss",
    "test_accuracy": "accuracy",
    "test_rmse": "RMSE",
}
ENDED = (
    *(*SHOWN, "unseen_loss", "unseen_accuracy", "unseen_rmse", "unseen_bottom_decile"),
    *("mean_model_test_accuracy", "mean_model_test_rmse", "consensus_distance"),
)
"""What the table at the end shows."""


class LiveRounds:
    """A progress bar that shows round, losses, accuracy and time left; silent when asked."""

    def __init__(self, quiet: bool, title: str = "training") -> None:
        self._progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[words]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=errors,
            disable=quiet or not errors.is_terminal,
            transient=True,
        )
        self._task = self._progress.add_task(title, total=None, words="preparing")
        self._latest: dict[str, float] = {}

    def __enter__(self) -> LiveRounds:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, report: RoundReport, rounds: int) -> None:
        self._latest |= {name: report.metrics[name] for name in SHOWN if name in report.metrics}
        words = "  ".join(
            f"{label} {self._latest[name]:.3f}" for name, label in SHOWN.items() if name in self._latest
        )
        self._progress.update(self._task, total=rounds, completed=report.round, words=words)

    def say(self, words: str) -> None:
        """Print a line above the bar; on another console it would be printed into it."""
        live = not self._progress.disable and console.is_terminal
        (self._progress.console if live else console).print(words, soft_wrap=True, highlight=False)

    def rename(self, title: str) -> None:
        """Start again under another title."""
        self._latest = {}
        self._progress.reset(self._task, description=title, words="preparing")


def summary(run: Run) -> dict[str, Any]:
    """The numbers that a run ends with."""
    from ..runs import summarise_clients

    metrics = run.metrics()
    # Every run ends with an evaluation; an older one would hide that it has diverged.
    last = {k: float(v[-1]) if k.startswith(("test_", "unseen_")) else _last(v) for k, v in metrics.items()}
    clients = run.client_metrics()
    asked = run.folder.config if run.folder else {}
    answer: dict[str, Any] = {
        "algorithm": asked.get("algorithm", run.setting.algorithm.name),
        "clients": len(run.setting.federation),
        "rounds": int(last.pop("round")),
        **{name: last[name] for name in ENDED if name in last},
    }
    judged = next((name for name in ("test_accuracy", "test_rmse") if name in clients), None)
    if judged:
        better = judged == "test_accuracy"
        spread = summarise_clients(clients[judged], clients["test_samples"], better)
        answer["clients_" + judged.removeprefix("test_")] = {
            k: spread[k] for k in ("mean", "bottom_decile", "worst", "std")
        }
    empty = int((metrics.get("participants", np.ones(1)) == 0).sum())
    if empty:
        answer["rounds_without_clients"] = empty
    answer["megabytes_sent"] = (
        float(np.nansum(metrics.get("bytes_up", 0.0)) + np.nansum(metrics.get("bytes_down", 0.0))) / 1e6
    )
    if run.setting.algorithm.decentralised:
        answer["simulated_seconds"] = last["clock"]
    events = run.events()
    astray = [event["round"] for event in events if event["kind"] == "diverged"]
    if astray:
        answer["diverged_in_round"] = astray[0]
    answer["events"] = len(events)
    if run.folder:
        answer["folder"] = str(run.folder.path)
    return answer


def show_summary(numbers: Mapping[str, Any], title: str) -> None:
    """A short two-column table."""
    table = Table(title=title, show_header=False, title_justify="left")
    for name, value in numbers.items():
        inner = value if isinstance(value, Mapping) else {"": value}
        for word, number in inner.items():
            table.add_row(f"{name} {word}".replace("_", " ").strip(), _text(number))
    console.print(table)


def show_rows(rows: Sequence[Mapping[str, Any]], title: str = "") -> None:
    """A table with one row per mapping; the keys of the first are the head."""
    table = Table(title=title or None, title_justify="left")
    for name in rows[0] if rows else ():
        table.add_column(escape(name.replace("_", " ")), overflow="fold")
    for row in rows:
        table.add_row(*(_text(value) for value in row.values()))
    console.print(table)


def print_json(answer: Any) -> None:
    """For machines: one JSON document; what is not a number is null."""
    sys.stdout.write(json.dumps(_jsonable(answer), indent=2) + "\n")


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(v) for v in value]
    if isinstance(value, np.ndarray | np.generic):
        return _jsonable(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _last(values: Any) -> float:
    measured = values[~np.isnan(values)]
    return float(measured[-1]) if len(measured) else math.nan


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else escape(str(value))
