"""Final screen of a run, and the console it is written to."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..core.json_text import json_ready
from ..typing import Array, Document, Fields
from . import live
from .tables import as_text, show

if TYPE_CHECKING:
    from ..models import Metric
    from ..training.run import Run

console = Console()
stderr = Console(stderr=True)


class LiveRounds(live.LiveRounds):
    """The progress bar of a run or of several, beside what is printed."""

    def __init__(self, quiet: bool, title: str = "training") -> None:
        super().__init__(quiet, stderr, console, title)


def summary(run: Run) -> Document:
    """The numbers that a run ends with."""
    from ..models.metrics import deciding_metric
    from ..runs import summarize_clients
    from ..runs.selection import best_in_words

    metrics = run.metrics()
    # Every run ends with an evaluation; an older one would hide that it has diverged.
    last = {
        k: float(v[-1]) if k.startswith(("test_", "honest_test_", "unseen_")) else _last(v)
        for k, v in metrics.items()
    }
    clients = run.client_metrics()
    asked = run.folder.config if run.folder else {}
    answer: Document = {
        "algorithm": asked.get("algorithm", run.setting.algorithm.name),
        "clients": len(run.setting.federation) - int(run.record.meta().get("forgotten", 0)),
        "rounds": int(last.pop("round")),
        **{name: last[name] for name in _final_rows(run.setting.task.metrics) if name in last},
    }
    judged = run.setting.task.metrics.get(deciding_metric(run.setting.task.metrics))
    if judged is not None and f"test_{judged.name}" in clients:
        values = clients[f"test_{judged.name}"]
        spread = summarize_clients(values, clients["test_samples"], judged.higher_is_better)
        answer[f"clients_{judged.name}"] = {k: spread[k] for k in ("mean", "bottom_decile", "worst", "std")}
        if run.setting.federation.groups is not None:
            answer[f"groups_{judged.name}"] = _of_groups(run, clients, f"test_{judged.name}", judged)
    best = best_in_words(run.record.meta())
    if best is not None and f"in round {answer['rounds']}" not in best:
        answer["best_model"] = best
    empty = int((metrics.get("participants", np.ones(1)) == 0).sum())
    if empty:
        answer["rounds_without_clients"] = empty
    answer["megabytes_sent"] = (
        float(np.nansum(metrics.get("bytes_up", 0.0)) + np.nansum(metrics.get("bytes_down", 0.0))) / 1e6
    )
    if run.messages.per_client:
        answer["simulated_seconds"] = last["clock"]
    events = run.events()
    astray = [event["round"] for event in events if event["kind"] == "diverged"]
    if astray:
        answer["diverged_in_round"] = astray[0]
    answer["events"] = len(events)
    if run.folder and run.folder.protection:
        answer["protection"] = dict(run.folder.protection)
    if run.folder:
        answer["folder"] = str(run.folder.path)
    return answer


def _of_groups(run: Run, clients: Mapping[str, Array], name: str, judged: Metric) -> dict[str, float]:
    """The mean of each group, the worst of them, and how far they are apart."""
    from ..experiments.fairness import find_groups
    from ..runs.fairness import group_means, group_measures

    groups = find_groups(run, clients) or []
    values = clients[name]
    return {**group_means(values, groups), **group_measures(values, groups, judged.higher_is_better)}


def _final_rows(metrics: Mapping[str, Metric]) -> Iterator[str]:
    """What the table at the end shows."""
    yield "train_loss"
    for group in ("test_", "honest_test_", "unseen_"):
        yield from (group + name for name in ("loss", *metrics))
    yield "unseen_bottom_decile"
    yield from (f"mean_model_test_{name}" for name in metrics)
    yield "consensus_distance"
    yield from ("epsilon", "local_epsilon", "row_epsilon", "reference_epsilon")


def show_summary(numbers: Fields, title: str) -> None:
    """A short two-column table."""
    table = Table(title=title, show_header=False, title_justify="left")
    for name, value in numbers.items():
        inner = value if isinstance(value, Mapping) else {"": value}
        for word, number in inner.items():
            table.add_row(f"{name} {word}".replace("_", " ").strip(), escape(as_text(number)))
    console.print(table)


def show_rows(rows: Sequence[Fields], title: str = "", spare: Sequence[str] = (), more: str = "") -> None:
    """A table with one row per mapping; the keys of the first are the head. Where a window is too narrow,
    columns of `spare` are left out, the first one first; `more` says where they are."""
    show(console, rows, title, spare, more)


def print_aligned(text: str) -> None:
    """Text as it is: the lines of a summary must not be broken, or columns are not below each other."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def print_json(answer: Any) -> None:
    """For machines: one JSON document; numbers that are not finite are strings such as "NaN"."""
    sys.stdout.write(json.dumps(json_ready(answer), indent=2) + "\n")


def _last(values: Any) -> float:
    measured = values[~np.isnan(values)]
    return float(measured[-1]) if len(measured) else math.nan
