"""Forgetting after a concept drift: accuracy lost on earlier concepts.

Segments are the times between drifts. With a_k(t) the score after t rounds on the test rows of segment k's
concept,

    forgetting(t) = mean over earlier segments k of  max_{s < t} a_k(s) - a_k(t)

(Chaudhry, Dokania, Ajanthan and Torr, "Riemannian walk for incremental learning", 2018), with the sign turned
around where lower scores are better. It is negative where a model has become better at what is
past. During a gradual drift the time before it is the earlier segment; segments of one concept, which a
recurring drift has many of, count once.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..engine import Engine
from ..models.metrics import deciding_metric, higher_is_better
from ..runs import Record
from ..typing import ClientIds
from .round_report import label_columns
from .training_state import Progress

COLUMN = "forgetting"


def forgetting_columns(
    engine: Engine, record: Record, now: Progress, done: int, clients: ClientIds, metrics: Mapping[str, float]
) -> dict[str, float]:
    """The score on each concept so far and, after a first drift, what was forgotten; `metrics` are those of
    this evaluation's hold-out. Empty where nothing drifts, or the engine cannot tell."""
    setting = engine.setting
    score = deciding_metric(setting.task.metrics)
    if setting.stream is None or f"test_{score}" not in metrics:
        return {}
    segments, rows = setting.stream.concepts(setting.federation.test, done)
    if len(segments) == 1:
        return {}
    columns: dict[str, float] = {}
    for concept in sorted({share for share in segments if share in (0.0, 1.0)}):
        name = f"concept_{concept:.0f}_{score}"
        if concept == segments[-1]:
            columns[name] = metrics[f"test_{score}"]
            continue
        found = engine.evaluate_rows(now.messages, now.memories, rows(concept), done, clients)
        if found is None:
            return {}
        columns[name] = label_columns("", found, setting.task)[0][f"_{score}"]
    past = [f"concept_{concept:.0f}_{score}" for concept in sorted(set(segments[:-1]))]
    best = best_so_far(record, past, score, done)
    known = [best[name] - _good(columns[name], score) for name in past if name in best]
    return {**columns, **({COLUMN: float(np.mean(known))} if known else {})}


def best_so_far(record: Record, names: list[str], score: str, done: int) -> dict[str, float]:
    """The best score of each concept before this evaluation, the larger the better. Until the first drift the
    hold-out has the first concept."""
    before = record.metrics()
    earlier = before["round"] < done
    drifted = np.isfinite(before.get("concept_0_" + score, np.full(len(earlier), np.nan)))
    best: dict[str, float] = {}
    for name in names:
        values = before.get(name, np.full(len(earlier), np.nan))
        if name.startswith("concept_0_"):
            first = before.get(f"test_{score}", np.full(len(earlier), np.nan))
            values = np.where(drifted, values, first)
        seen = values[earlier & np.isfinite(values)]
        if len(seen):
            best[name] = max(_good(float(value), score) for value in seen)
    return best


def _good(value: float, score: str) -> float:
    return value if higher_is_better(f"test_{score}") else -value
