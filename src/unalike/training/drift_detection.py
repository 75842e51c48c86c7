"""Drift detection during training, and its delay.

After every evaluation the detector is given, client after client, the prequential error of the rows that
arrive next: 1 - accuracy, or the loss where nothing else is measured. With D the round in which the newest
drift that was injected began,

    delay = t - D        in rounds, for the first detection after it,

and a detection before any drift, or a second one of the same drift, is a false alarm. Detectors notice any
change, and errors also change while a model learns: a change to fewer errors, compared with the mean since
the last change, is no drift. What a detector has seen is in the record, so a resumed run tells it all of that
again.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ..data.streams import Stream
from ..data.streams.drift_detectors import DriftDetector, detector_registry
from ..models.metrics import Metric, deciding_metric, higher_is_better
from ..runs import Record
from ..typing import Event, Float64s
from .prequential import PREFIX

DETECTED = "drift_detected"
DELAY = "drift_delay"
EVENT = "drift detected"
Noticed = tuple[dict[str, float], list[Event]]


class DriftDetection:
    """Tells a detector how well rows are predicted, and writes down when it is sure."""

    def __init__(self, stream: Stream, record: Record, metrics: Mapping[str, Metric]) -> None:
        self._stream, words = stream, stream.detector
        self._detector: DriftDetector | None = None if words is None else detector_registry.make(words)
        self._score = deciding_metric(metrics)
        self._found: list[int] = []
        self._before: list[float] = []
        if self._detector is not None:
            self._tell_again(record)

    def look(self, round: int, clients: Mapping[str, ArrayLike]) -> Noticed:
        """Columns and events of an evaluation after so many rounds, from each client's prequential scores."""
        if self._detector is None or not self._update(clients):
            return {}, []
        began = [turn for turn in self._stream.drift_begins(round) if turn <= round]
        delay = round - began[-1] if began and not any(t >= began[-1] for t in self._found) else None
        self._found.append(round)
        event: Event = {"kind": EVENT, "detector": self._stream.detector}
        event["false_alarm"] = int(delay is None)
        columns = {DETECTED: 1.0}
        if delay is not None:
            columns[DELAY] = event["delay"] = float(delay)
        return columns, [event]

    def _update(self, clients: Mapping[str, ArrayLike]) -> bool:
        """Whether one of these errors made the detector sure that there are more of them."""
        assert self._detector is not None
        errors, changed = self._errors(clients), False
        for error in errors:
            self._detector.update(float(error))
            changed |= bool(self._detector.drift_detected)
        earlier = np.mean(self._before) if self._before else np.inf
        self._before = errors.tolist() if changed else [*self._before, *errors.tolist()]
        return changed and bool(errors.mean() > earlier)

    def _errors(self, clients: Mapping[str, ArrayLike]) -> Float64s:
        name = f"{PREFIX}_{self._score}"
        if name not in clients:
            name = f"{PREFIX}_loss"
        values = np.asarray(clients.get(name, ()), np.float64)
        values = values[np.isfinite(values)]
        return 1 - values if higher_is_better(name) else values

    def _tell_again(self, record: Record) -> None:
        for round in record.metrics().get("round", np.zeros(0)).astype(np.int64).tolist():
            if self._update(record.client_metrics(round)):
                self._found.append(round)
