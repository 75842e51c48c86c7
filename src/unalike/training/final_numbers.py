"""Events for final numbers that are NaN or infinite, and for trainings of nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ..core.json_text import number_text
from ..runs import Record
from ..typing import Array, Event, Fields

NOT_FINITE, NOTHING_TRAINED = "not finite", "nothing trained"
TESTED = ("test_", "honest_test_", "unseen_")
"""Measured in the last round of every run that has test rows."""


def note_final_numbers(record: Record, round: int) -> None:
    """Record that all uploads were rejected, and which final numbers are not finite; once."""
    kinds = {event["kind"] for event in record.events()}
    news = [event for event in final_events(record.metrics()) if event["kind"] not in kinds]
    if news:
        record.write_round(round, {}, events=news)


def final_events(metrics: Mapping[str, Array]) -> list[Event]:
    """What must be said of the numbers that a training ends with.

    >>> final_events({"test_loss": np.array([0.5, np.nan]), "train_loss": np.array([0.4, 0.3])})
    [{'kind': 'not finite', 'metric': 'test_loss', 'value': 'NaN'}]
    """
    events: list[Event] = []
    if nothing_trained(metrics):
        events.append({"kind": NOTHING_TRAINED, "rejected": int(np.nansum(metrics["rejected"]))})
    for name, values in metrics.items():
        if len(values) and name.startswith(TESTED) and not np.isfinite(values[-1]):
            events.append({"kind": NOT_FINITE, "metric": name, "value": number_text(float(values[-1]))})
    train = metrics.get("train_loss", np.zeros(1))
    if len(train) and not np.isfinite(train).any():
        events.append({"kind": NOT_FINITE, "metric": "train_loss", "value": "NaN"})
    return events


def nothing_trained(metrics: Mapping[str, Array]) -> bool:
    """Whether clients uploaded, and every single upload was rejected.

    >>> nothing_trained({"participants": np.array([5.0, 5.0]), "rejected": np.array([5.0, 5.0])})
    True
    """
    sent, rejected = (float(np.nansum(metrics.get(name, 0.0))) for name in ("participants", "rejected"))
    return sent > 0 and rejected >= sent


def final_sentences(events: Iterable[Fields]) -> list[str]:
    """What a person reads of such events."""
    told = list(events)
    sentences = [
        f"all {event['rejected']:,} uploads were rejected: nothing was trained, the model is the initial one."
        for event in told
        if event["kind"] == NOTHING_TRAINED
    ]
    names = [f"{event['metric']} is {event['value']}" for event in told if event["kind"] == NOT_FINITE]
    return sentences + ([f"numbers that are not finite: {', '.join(names)}."] if names else [])
