"""The report of a run: its record as figures and one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from matplotlib.figure import Figure

from ..errors import RunError
from ..models.metrics import find_metric, metric_columns
from ..runs.fairness import group_means, group_measures
from ..runs.record import Record
from ..runs.selection import TEST_ROWS, best_in_words
from ..runs.statistics import higher_is_better, summarize_clients
from ..typing import Array, Config, Document, Fields, Row
from .html import figures_on, write_report
from .monitor_report import monitor_figures, suspects
from .participation_report import most_excluded, participation_figures
from .plots import client_distribution, curves, fix_layout, last, save, traffic
from .privacy_cards import privacy_cards
from .regret_report import CAPTION as REGRET_CAPTION
from .regret_report import regret_cards, regret_figures
from .stream_report import stream_figures
from .stream_weights_report import FIGURE as STREAM_WEIGHTS
from .stream_weights_report import stream_weight_cards, stream_weight_figures
from .text_format import (
    bytes_text,
    cell,
    requested_metrics,
    scores,
    seconds_text,
    split_and_quantity,
    title,
    value,
)
from .timing_report import timing_cards, timing_figures

if TYPE_CHECKING:
    from ..data import Federation

Columns = Mapping[str, Array]
_WORST_SHOWN, _MOST_NAMED = 10, 8
_HEADLINE_OPTIONS = ("algorithm", "data", "dataset", "partition", "model", "task")
_CAPTIONS = {
    "Learning": "What each round reached. Lines end in their last value.",
    "Clients": "The average hides who is left behind: each client with the final model, worst first.",
    "Confusion": "Which classes are taken for which: rows by label and by what is predicted.",
    "Traffic": "Everything sent since the first round, and how many clients each round heard.",
    "Data": "Which client has what.",
    "Stream": "Rows that arrived in each round and rows in memory, and how many equally weighted rows a "
    "round is worth.",
    STREAM_WEIGHTS: "What each round and each client counted over the whole run, if all clients take part. "
    "Where weights lie on shares of rows, all rows count the same.",
    "Prequential": "Rows that arrive, predicted before they are learned, beside the hold-out, which has the "
    "concept of the rows that arrived last. After a drift, earlier concepts are measured too.",
    "Monitor": "What uploads look like: whoever trains goes on from its last update, and its entries are not "
    "those of noise. Suspects in color, with what became of them.",
    "Presence": "Which clients were there in each round, who of them was used, and who was left out.",
    "Classes": "How many classes the clients of each round have between them.",
    "Jobs": "Who computed when; the darker, the older the model was when the result was aggregated. Empty "
    "stretches are lost or idle, or work that was not aggregated before the run ended.",
    "Time": "The same learning by rounds and by simulated time.",
    "Staleness": "How many aggregations happened while clients computed.",
    "Mixture": "How much of each component every client has.",
    "Components": "How many rows each component explains.",
    "Regret": REGRET_CAPTION,
    "Mean model": "The mean of all silos' models, and how far apart they are.",
    "Objectives": "Clients' training losses by importance (the target, FP) and as their results really "
    "weighed (the surrogate, SP); apart, they show a bias of the timing.",
    "Objectives on test rows": "The same of clients' test losses.",
}
_REAL_CAPTIONS = {
    "Jobs": "Who computed when; the darker, the older the model was when the result was aggregated.",
    "Time": "The same learning by rounds and by the time that passed.",
}


class RunLike(Protocol):
    """What a report needs of a run folder."""

    path: Path
    record: Record
    config: Document


def report_run(
    folder: RunLike,
    federation: Federation | None = None,
    more: Mapping[str, Figure] | None = None,
    missing: str = "",
) -> Path:
    """Write `report.html` and `plots/*.png` into the run folder, with `more` figures beside those of the
    record, and return the report's path; `missing` says why some figures cannot be drawn, and a page that
    has them is then not replaced."""
    metrics, clients = folder.record.metrics(), folder.record.client_metrics()
    real = folder.config.get("engine") == "flower"  # rows are elsewhere, and time is real
    asked = requested_metrics(folder.config)
    forgotten = _forgotten_count(folder.record)  # then rows are not read again
    shown = None if forgotten or not _has_rows(federation, real) else federation
    figures = run_figures(metrics, clients, shown, asked)
    figures |= stream_figures(metrics, asked) | stream_weight_figures(metrics, clients)
    figures |= regret_figures(metrics)
    figures |= participation_figures(folder.record, federation)
    figures |= monitor_figures(folder.record, federation)
    figures |= timing_figures(folder.record, federation, real) | dict(more or {})
    path = folder.path / "report.html"
    if missing and (lost := [name for name in figures_on(path) if name not in figures]):
        raise RunError(
            f"{path} is kept: a new page would lack the figures {', '.join(lost)}, because "
            f"{missing.rstrip('.')}. To write it all the same, delete the page first."
        )
    fix_layout(figures.values())
    for name, drawn in figures.items():
        save(drawn, folder.path / "plots" / f"{name.lower().replace(' ', '-')}.png")
    worst, events = worst_clients(clients, federation, asked=asked), folder.record.events()
    first = headline(metrics, clients, folder.record.timings(), events, federation, asked)
    first |= stream_weight_cards(metrics) | regret_cards(metrics)
    first |= selection_cards(folder.record.meta(), events)
    first |= privacy_cards(metrics, folder.config, getattr(folder, "protection", {}))
    first |= forgotten
    return write_report(
        path,
        title=folder.path.resolve().name,
        subtitle=subtitle(folder.config),
        source=data_source(federation, real),
        summary=first | timing_cards(folder.record, federation, real),
        figures=figures,
        captions=_CAPTIONS | (_REAL_CAPTIONS if real else {}),
        config={**folder.config, **_beside(folder)},
        events=events,
        tables={
            "Groups": group_rows(clients, federation, asked),
            "Clients that do worst": worst,
            "Clients under suspicion": suspects(folder.record, federation),
            "Clients that were left out most": most_excluded(folder.record, federation),
        },
    )


def _has_rows(federation: Federation | None, real: bool) -> bool:
    """Whether clients' rows are here, and not only their number."""
    if federation is None or real:
        return False
    rows = getattr(federation, "train", None)
    return rows is None or any(rows.x.strides)


def _beside(folder: RunLike) -> Document:
    """What a page shows beside the settings of an experiment."""
    return {
        name: getattr(folder, name, {}) for name in ("protection", "versions") if getattr(folder, name, {})
    }


def run_figures(
    metrics: Columns, clients: Columns, federation: Federation | None = None, asked: Sequence[str] = ()
) -> dict[str, Figure]:
    """The figures that the record has numbers for, by name."""
    figures: dict[str, Figure] = {}
    names = _learning(metrics, asked)
    if names:
        figures["Learning"] = curves(metrics, names)
    score = client_score(clients, asked)
    if score:
        figures["Clients"] = client_distribution(clients[score], clients.get("test_samples"), score)
    if "bytes_up" in metrics or "bytes_down" in metrics:
        figures["Traffic"] = traffic(metrics)
    if federation is not None:
        from ..data import draw_partition

        figures["Data"] = draw_partition(federation)
    return figures


def headline(
    metrics: Columns,
    clients: Columns,
    timings: Columns,
    events: Sequence[Fields] = (),
    federation: Federation | None = None,
    asked: Sequence[str] = (),
) -> dict[str, str | float]:
    """The numbers that a reader wants first; of a run that has diverged, never those from before."""
    cards: dict[str, str | float] = {}
    diverged = next((event["round"] for event in events if event["kind"] == "diverged"), None)
    for name in scores(metrics, first=asked):
        if name in metrics and diverged is not None and not np.isfinite(metrics[name][-1]):
            cards[title(name)] = f"diverged in round {diverged}"
        elif name in metrics and np.isfinite(last(metrics[name])):
            cards[title(name)] = value(name, last(metrics[name]))
    cards.update(_client_cards(clients, federation, asked))
    cards["Rounds"] = float(metrics["round"][-1]) if len(metrics["round"]) else 0.0
    empty = int((metrics.get("participants", np.ones(1)) == 0).sum())
    if empty:
        cards["Rounds without clients"] = float(empty)
    if "bytes_up" in metrics and "bytes_down" in metrics:
        cards["Traffic"] = bytes_text(
            float(np.nansum(metrics["bytes_up"]) + np.nansum(metrics["bytes_down"]))
        )
    if timings["seconds"].size:
        cards["Time"] = seconds_text(float(np.nansum(timings["seconds"])))
    return cards


def selection_cards(meta: Mapping[str, str], events: Sequence[Fields]) -> dict[str, str | float]:
    """Which rows chose a model or the end of training."""
    best = best_in_words(meta)
    cards: dict[str, str | float] = {} if best is None else {"Best model": best}
    if any(event["kind"] == TEST_ROWS for event in events):
        cards["Early stopping"] = "by test rows, so that their scores are optimistic"
    return cards


def client_score(clients: Columns, asked: Sequence[str] = ()) -> str | None:
    """The measure by which clients are ranked, if they were measured: one whose direction is known."""
    known = [name for name in scores(clients, first=asked) if find_metric(name) or name == "test_loss"]
    return next((name for name in known if name in clients), None)


def worst_clients(
    clients: Columns,
    federation: Federation | None = None,
    count: int = _WORST_SHOWN,
    asked: Sequence[str] = (),
) -> list[Row]:
    """The clients with the worst score, worst first, by name, with all that was measured of them."""
    score = client_score(clients, asked)
    if score is None:
        return []
    sign = 1 if higher_is_better(score) else -1
    order = np.argsort(sign * clients[score], kind="stable")
    measured = np.isfinite(clients[score]) & (clients.get("test_samples", np.ones(len(order))) > 0)
    order = order[measured[order]][:count]
    columns = ["client", score, *(name for name in clients if name not in ("client", score))]
    rows: list[Row] = [{name: _entry(name, clients[name][row]) for name in columns} for row in order]
    if federation is not None and federation.names is not None:
        rows = [{**row, "client": federation.name(int(row["client"]))} for row in rows]
    return rows


def data_source(federation: Federation | None, real: bool = False) -> str:
    """Where the rows came from, which column is predicted and what was not read, as far as it is known.

    >>> data_source(None)
    ''
    """
    if federation is None:
        return ""
    words = _rows_of(federation) if real else str(federation.description)
    return f"Data: {words}." if words else ""


def _rows_of(federation: Federation) -> str:
    here = _with_rows(federation)
    names = [federation.name(i) for i in here[:_MOST_NAMED]]
    more = f" and {len(here) - len(names):,} more" if len(here) > len(names) else ""
    target = "" if federation.target is None else f"; target {federation.target!r}"
    return f"rows of {', '.join(names)}{more}, who keep them{target}"


def subtitle(config: Config) -> str:
    """The choices that name an experiment, where the configuration has them.

    >>> subtitle({"seed": 1, "algorithm": {"name": "fedavg"}, "partition": "dirichlet:0.3"})
    'fedavg · dirichlet:0.3'
    """
    found = (config.get(option) for option in _HEADLINE_OPTIONS)
    names = (item.get("name") if isinstance(item, Mapping) else item for item in found)
    return " · ".join(cell(name) for name in names if name is not None)


def _learning(metrics: Columns, asked: Sequence[str]) -> list[str]:
    """Losses, then metrics, each on training rows, where that was recorded, and on test rows."""
    trained = [name for name in metric_columns(metrics, "train_", asked) if find_metric(name)]
    there = [*metric_columns(metrics, "test_", asked), *trained]
    quantities = dict.fromkeys(["loss", *(split_and_quantity(name)[1] for name in there)])
    pairs = (f"{split}_{quantity}" for quantity in quantities for split in ("train", "test"))
    return [name for name in pairs if name in metrics]


def _client_cards(
    clients: Columns, federation: Federation | None, asked: Sequence[str]
) -> dict[str, str | float]:
    score = client_score(clients, asked)
    if score is None:
        return {}
    summary = summarize_clients(clients[score], clients.get("test_samples"), higher_is_better(score))
    known, everyone = len(clients["client"]), 0 if federation is None else len(_with_rows(federation))
    return {
        "Bottom decile of clients": value(score, summary["bottom_decile"]),
        "Worst client": value(score, summary["worst"]),
        "Spread over clients": value(score, summary["std"]),
        **_group_cards(clients, federation, score),
        "Clients": f"{known:,} of {everyone:,} evaluated" if known < everyone else float(known),
    }


def _with_rows(federation: Federation) -> list[int]:
    """The clients that have rows, as far as that is known: those that were forgotten have none."""
    if not hasattr(federation, "train"):
        return list(range(len(federation)))
    sizes = federation.train.sizes + federation.validation.sizes + federation.test.sizes
    return [client for client, size in enumerate(sizes.tolist()) if size]


def _forgotten_count(record: Record) -> dict[str, float]:
    """How many clients were forgotten, if any."""
    count = int(record.meta().get("forgotten", 0))
    return {"Clients forgotten": float(count)} if count else {}


def _group_cards(clients: Columns, federation: Federation | None, score: str) -> dict[str, str | float]:
    of_client = getattr(federation, "groups", None)
    if of_client is None:
        return {}
    groups = [of_client[int(i)] for i in clients["client"]]
    found = group_measures(clients[score], groups, higher_is_better(score))
    return {
        "Worst group": value(score, found["worst_group"]),
        "Discrepancy of groups": value(score, found["discrepancy"]),
    }


def group_rows(clients: Columns, federation: Federation | None, asked: Sequence[str] = ()) -> list[Row]:
    """Every group's mean over its clients, the worst first, where clients belong to groups."""
    score = client_score(clients, asked)
    of_client = getattr(federation, "groups", None)
    if score is None or of_client is None:
        return []
    groups = [of_client[int(i)] for i in clients["client"]]
    means = group_means(clients[score], groups)
    order = sorted(means, key=lambda group: means[group] * (1 if higher_is_better(score) else -1))
    return [{"group": g, "clients": groups.count(g), title(score): value(score, means[g])} for g in order]


def _entry(name: str, item: Any) -> object:
    plain = item.item() if isinstance(item, np.generic) else item
    return value(name, plain) if name == "test_loss" or find_metric(name) else plain
