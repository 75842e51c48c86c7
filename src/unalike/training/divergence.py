"""Divergence detection, and the last sound model.

A loss that is not a number, infinite, or a thousand times that of the untrained model (plus one) is said
once, as an event of the run. The model of the last evaluation before it is kept, for that is the one that a
person would want.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping

from ..errors import DivergenceWarning
from ..runs import Record
from ..typing import Event, Fields, Message
from .median_columns import decisive_columns

TOO_LARGE = 1000.0
JUDGED = ("test_loss", "validation_loss", "train_loss")
KIND = "diverged"


class Divergence:
    """What evaluations say of one training."""

    def __init__(self, record: Record) -> None:
        columns = decisive_columns(record.metrics())
        self._first = {name: float(values[0]) for name, values in columns.items() if len(values)}
        self._said = any(event["kind"] == KIND for event in record.events())
        self.lost = False
        """Whether the last evaluation found that training has diverged."""
        self.sound: tuple[int, Message] | None = None
        """The last round whose evaluation was sound, and what the server broadcast after it."""

    def look(self, round: int, metrics: Mapping[str, float], message: Message) -> list[Event]:
        """Judge an evaluation; returns the event to record, if it is the first that tells of divergence."""
        if round == 0:
            self._first = dict(metrics)
        wrong = next((name for name in JUDGED if name in metrics and self._astray(name, metrics[name])), None)
        self.lost = wrong is not None
        if wrong is None:
            self.sound = (round, message)
            return []
        news = [] if self._said else [{"kind": KIND, "metric": wrong, "value": f"{metrics[wrong]:.3g}"}]
        self._said = True
        return news

    def _astray(self, name: str, value: float) -> bool:
        if name == "train_loss" and math.isnan(value):  # nobody's upload was accepted, which is said already
            return False
        begun = self._first.get(name, math.nan)
        limit = TOO_LARGE * (begun + 1) if math.isfinite(begun) else math.inf
        return not value < limit if math.isfinite(value) else True


def advice(event: Fields, kept: int | None) -> str:
    """What a person reads of a training that has diverged.

    >>> print(advice({"round": 4, "metric": "test_loss", "value": "inf"}, 2).partition("; ")[0])
    training diverged (test loss inf in round 4)
    """
    what = f"{event['metric'].replace('_', ' ')} {event['value']} in round {event['round']}"
    cure = "try a smaller learning rate, --clip 1, or features of mean 0 and variance 1."
    saved = "" if kept is None else f" model.safetensors is the model of round {kept}."
    return f"training diverged ({what}); {cure}{saved}"


def warn_of_divergence(record: Record) -> None:
    """Say in Python what the command line says of a training that has diverged."""
    events = record.events()
    for event in (event for event in events if event["kind"] == KIND):
        warnings.warn(advice(event, find_kept_round(events)), DivergenceWarning, stacklevel=4)


def find_kept_round(events: Iterable[Fields]) -> int | None:
    """The round whose model was kept in place of the last one, if there was one."""
    return next((event["of_round"] for event in events if event["kind"] == "kept model"), None)
