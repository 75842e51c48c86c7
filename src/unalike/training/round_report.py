"""The report of a round: the numbers that are recorded, and how they are computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..algorithms import Messages
from ..engine import Engine, Memories, Report
from ..models import Task
from ..timing import Step
from ..typing import Array, ClientIds, Event, Float64s, Int64s
from .client_queries import QUESTIONS
from .median_columns import median_columns

Groups = Mapping[str, Array]
ANSWER = 4
"""Bytes of one number that a client answers."""


@dataclass
class RoundReport:
    """One round's numbers; round 0 is the start."""

    round: int
    metrics: dict[str, float] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    groups: Groups = field(default_factory=dict)
    """Which clients were used and, where it matters, available, asked or excluded."""
    seconds: float | None = None


def round_report(
    step: Step,
    said: Report,
    down: int,
    up: int,
    name: Callable[[int], str],
    groups: Groups,
    medians: bool = False,
) -> RoundReport:
    """Participation, training loss and traffic.

    Args:
        step: The step that was taken.
        said: What clients reported.
        down: Bytes of one message.
        up: Bytes of one upload.
        name: The name of a client.
        groups: The clients that were there, asked or excluded.
        medians: Whether the median over clients of the training loss is recorded, too.
    """
    number = step.number + 1
    counts = {key: float(len(group)) for key, group in groups.items()}
    groups = {"used": step.clients, **_timeline(step), **groups}
    answers = ANSWER * sum(len(groups.get(q, ())) for q in QUESTIONS)
    received = len(_contacted_clients(groups)) + len(step.lost) if step.messages is None else step.messages
    sent = len(step.clients) if step.messages is None else step.messages
    traffic = {
        "bytes_down": float(down * received),
        "bytes_up": float(up * sent + answers),
        "clock": step.time,
    }
    counts |= _ages(step)
    if not said:
        nothing = {"participants": 0.0, "rejected": 0.0, **counts, **traffic}
        lost = [_event("lost job", int(c), name) for c in step.lost]
        return RoundReport(number, nothing, [{"kind": "empty round"}, *lost], groups)
    arrays = {key: np.asarray(values) for key, values in said.items()}
    reports = {key: values.astype(np.float64) for key, values in arrays.items() if values.ndim == 1}
    accepted = reports.pop("accepted") > 0
    weights = np.where(accepted, step.weights if step.weights.ndim == 1 else 1.0, 0.0)
    metrics = _means(reports, weights)
    if medians and "train_loss" in reports:
        metrics |= median_columns({"train_loss": reports["train_loss"][accepted]})
    metrics |= {
        "participants": float(len(step.clients)),
        "rejected": float((~accepted).sum()),
        "weight_sum": float(step.weights.sum()),
        **counts,
        **traffic,
    }
    events = [_event("rejected upload", int(c), name) for c in step.clients[~accepted]]
    events += [_event("lost job", int(c), name) for c in step.lost]
    return RoundReport(number, metrics, events, groups)


def _event(kind: str, client: int, name: Callable[[int], str]) -> Event:
    return {"kind": kind, "client": client, "name": name(client)}


def _ages(step: Step) -> dict[str, float]:
    """How old the models were that clients started from, where they were not all new."""
    if step.started is None or not len(step.clients):
        return {}
    ages = step.number - step.versions
    return {"staleness": float(ages.mean()), "oldest": float(ages.max())}


def _timeline(step: Step) -> Groups:
    """What a timing that knows more than rounds says of the clients used."""
    if step.started is None or step.finished is None:
        return {}
    return {
        "versions": step.versions,
        "weights": step.weights,
        "started": step.started,
        "finished": step.finished,
    }


def _contacted_clients(groups: Groups) -> Int64s:
    """The clients that were sent the model: those that worked and those that were asked something."""
    asked = [groups[question] for question in QUESTIONS if question in groups]
    return np.unique(np.concatenate([groups["used"], *asked])) if asked else groups["used"]


def evaluation_columns(
    engine: Engine,
    messages: Messages,
    memories: Memories,
    round: int,
    clients: ClientIds,
) -> tuple[dict[str, float], dict[str, Array] | None]:
    """Test (and validation) metrics: of all samples together, and each client's own."""
    federation = engine.setting.federation
    metrics: dict[str, float] = {}
    columns: dict[str, Array] = {}
    for split in ("test", "validation"):
        if not len(getattr(federation, split).y):
            continue
        values = engine.evaluate(messages, memories, split, round, clients)
        of_all, of_each = label_columns(split, values, engine.setting.task)
        metrics |= of_all | honest_columns(engine, split, values, clients)
        if not engine.trusts_metrics:
            metrics |= median_columns(of_each)
        columns |= of_each
    if not metrics:
        return {}, None
    offsets = federation.train.offsets
    trained_on = offsets[clients + 1] - offsets[clients]
    return metrics, {"client": clients, "train_samples": trained_on, **columns}


def honest_columns(
    engine: Engine, split: str, values: Mapping[str, Float64s], clients: ClientIds
) -> dict[str, float]:
    """The same of all samples of honest clients, where some of the clients are not."""
    lying = np.isin(clients, engine.setting.algorithm.dishonest)
    if not lying.any() or lying.all():
        return {}
    honest = {name: np.asarray(value)[~lying] for name, value in values.items()}
    return label_columns(f"honest_{split}", honest, engine.setting.task)[0]


def label_columns(
    prefix: str, values: Mapping[str, Float64s], task: Task
) -> tuple[dict[str, float], dict[str, Array]]:
    """What an evaluation comes to, under names with this prefix: of all samples together, and of each
    client."""
    samples = values["samples"]
    of_all = {f"{prefix}_loss": _mean(values["loss"], samples)}
    of_each: dict[str, Array] = {f"{prefix}_samples": samples, f"{prefix}_loss": values["loss"]}
    for metric in task.metrics.values():
        if not metric.table:
            means = values[metric.statistic]
            of_each[f"{prefix}_{metric.name}"] = metric.of_clients(means)
            of_all[f"{prefix}_{metric.name}"] = metric.of_all(means, samples)
    return of_all, of_each


def _means(reports: Mapping[str, Float64s], weights: Float64s) -> dict[str, float]:
    """What clients report on average; dishonest ones (in a simulated attack they are marked) may say
    anything, and only what they weigh is said of them."""
    marked = reports.get("dishonest")
    if marked is None:
        return {key: _mean(values, weights) for key, values in reports.items()}
    honest = np.where(marked > 0, 0.0, weights)
    means = {key: _mean(values, honest) for key, values in reports.items() if key != "dishonest"}
    return {**means, "dishonest": _mean(marked, weights)}


def _mean(values: Float64s, weights: Float64s) -> float:
    """The weighted mean over the entries that count; NaN when none does."""
    counted = weights > 0
    if not counted.any():
        return float("nan")
    with np.errstate(over="ignore", invalid="ignore"):  # what diverges is said by an event, not by NumPy
        return float(np.average(values[counted], weights=weights[counted]))
