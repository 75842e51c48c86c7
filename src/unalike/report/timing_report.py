"""Timing report: waiting, staleness and idle time of a run.

Clients' losses L_i are weighed in two ways: by importance, sum_i p_i L_i, which is the target; and by what
their results weighed in all rounds together, sum_i q~_i L_i, which is what training descended. Losses on
training rows are those of the published comparison (Fraboni, Vidal, Kameni and Lorenzi, "A General Theory for
Federated Optimization with Asynchronous and Heterogeneous Clients Updates", 2023); losses on test rows are
beside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from ..models.metrics import metric_columns
from ..runs.record import Record
from ..theory.asynchrony.objective import Surrogate
from ..typing import Array, Float64s, Int64s
from .job_plots import TIME, FinishedJobs, gantt
from .plots import last
from .text_format import number_text, seconds_text
from .timing_plots import against_time, clock, staleness_histogram, target_and_surrogate

if TYPE_CHECKING:
    from ..data import Federation

_GROUPS = ("used", "versions", "started", "finished")
_MOST_EVALUATIONS = 60
_OBJECTIVES = {"train": "Objectives", "test": "Objectives on test rows"}
REAL_TIME = "time, in seconds"


def timing_figures(record: Record, federation: Federation | None, real: bool = False) -> dict[str, Figure]:
    """Jobs, learning in time, ages of results and the two objectives, as far as the record tells of them.

    Of `real` clients the clock shows seconds that have passed.
    """
    work = recorded_jobs(record)
    if not len(work.clients):
        return {}
    metrics = record.metrics()
    names = None if federation is None else [federation.name(i) for i in range(len(federation))]
    axis = REAL_TIME if real else TIME
    figures = {"Jobs": gantt(work, names, axis)}
    judged = [name for name in ("test_loss", *metric_columns(metrics)[:1]) if name in metrics]
    if judged:
        figures["Time"] = against_time(metrics, judged, axis)
    if work.staleness.max() > 0:
        figures["Staleness"] = staleness_histogram(work.staleness)
    if federation is None:
        return figures
    for split, name in _OBJECTIVES.items():
        both = objectives(record, federation.importance, split)
        if len(both.at) > 1:
            figures[name] = target_and_surrogate(
                both.at, both.target, both.surrogate, (both.target_spread, both.surrogate_spread), axis
            )
    return figures


def timing_cards(
    record: Record, federation: Federation | None = None, real: bool = False
) -> dict[str, float | str]:
    """Time, how old results were, lost jobs and, knowing the federation, the weights' bias."""
    work = recorded_jobs(record)
    if not len(work.clients):
        return {}
    seconds = last(record.metrics()["clock"])
    cards: dict[str, float | str] = {
        **({"Time": seconds_text(seconds)} if real else {"Simulated time": number_text(seconds)}),
        "Mean staleness": f"{work.staleness.mean():,.2f} versions",
        "Oldest result": _format_count(int(work.staleness.max()), "version"),
    }
    if federation is not None:
        cards["Bias of weights (chi-square)"] = _distance(record, federation.importance)
    lost = sum(event["kind"] == "lost job" for event in record.events())
    return {**cards, "Lost jobs": float(lost)} if lost else cards


def recorded_jobs(record: Record) -> FinishedJobs:
    """Every result that was aggregated, in the order of rounds; none, where the timing did not tell."""
    metrics = record.metrics()
    times = dict(zip(metrics["round"].tolist(), clock(metrics).tolist(), strict=True))
    groups = [record.groups(name) for name in _GROUPS]
    known = [number for number in groups[0] if all(number in group for group in groups)]
    rounds = [number for number in known if np.isfinite(times.get(number, np.nan))]
    used, versions, started, finished = (_join_groups(group, rounds) for group in groups)
    sizes = [len(groups[0][number]) for number in rounds]
    aggregated = np.repeat(np.array([times[number] for number in rounds], np.float64), sizes)
    newest = np.repeat(np.array(rounds, np.int64) - 1, sizes)
    clients, versions = used.astype(np.int64), versions.astype(np.int64)
    return FinishedJobs(clients, started, finished, aggregated, versions, newest - versions)


def realized_weights(record: Record, clients: int) -> Float64s:
    """The mean weight of each client in a round (q), over the whole run."""
    weights, used = record.groups("weights"), record.groups("used")
    rounds = [number for number in weights if len(weights[number]) == len(used.get(number, ()))]
    owners = _join_groups(used, rounds).astype(np.int64)
    return np.bincount(owners, _join_groups(weights, rounds), minlength=clients) / max(len(rounds), 1)


class Objectives(NamedTuple):
    """The two objectives at evaluations, and the weighted standard deviations of clients' losses."""

    at: Float64s
    target: Float64s
    surrogate: Float64s
    target_spread: Float64s
    surrogate_spread: Float64s


def objectives(record: Record, importance: Float64s, split: str = "train") -> Objectives:
    """Clients' losses by importance (FP) and by realized weight (SP), where evaluations measured clients.

    Clients that were not evaluated, or have no such rows, are left out of both.

    Args:
        record: the record of a run.
        importance: what clients should count.
        split: the rows of the losses, `train` or `test`.
    """
    metrics, realized = record.metrics(), realized_weights(record, len(importance))
    measured = record.rounds_with_clients(f"{split}_loss")
    times = dict(zip(metrics["round"].tolist(), clock(metrics).tolist(), strict=True))
    rows = []
    for place in _evenly(len(measured), _MOST_EVALUATIONS).tolist():
        number = measured[place]
        clients = record.client_metrics(number)
        losses, who = clients[f"{split}_loss"], clients["client"]
        target, surrogate = (_mean_and_spread(losses, w[who]) for w in (importance, realized))
        rows.append((times[number], target[0], surrogate[0], target[1], surrogate[1]))
    return Objectives(*np.array(rows, np.float64).reshape(-1, 5).T)


def _mean_and_spread(losses: Float64s, weights: Float64s) -> tuple[float, float]:
    """The weighted mean and standard deviation of the losses that are known; NaN when none counts."""
    counted = (weights > 0) & ~np.isnan(losses)
    if not counted.any():
        return np.nan, np.nan
    mean = float(np.average(losses[counted], weights=weights[counted]))
    with np.errstate(invalid="ignore"):  # an infinite loss has an infinite mean, and no spread
        return mean, float(np.sqrt(np.average((losses[counted] - mean) ** 2, weights=weights[counted])))


def _distance(record: Record, importance: Float64s) -> str:
    """The chi-square distance of realized weights from importances; infinite where somebody has none."""
    realized = realized_weights(record, len(importance))
    silent = int(((importance > 0) & (realized <= 0)).sum())
    if silent:
        return f"∞, {_format_count(silent, 'client')} never heard"
    return number_text(round(Surrogate(importance, realized).chi_square(), 12))


def _format_count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _join_groups(groups: dict[int, Array], rounds: list[int]) -> Array:
    return np.concatenate([np.zeros(0), *(groups[number] for number in rounds)])


def _evenly(count: int, most: int) -> Int64s:
    """Positions of all of `count` things or, of many, of `most` at even distances with both ends."""
    return np.linspace(0, max(count - 1, 0), min(count, most)).round().astype(np.int64)
