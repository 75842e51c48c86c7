"""Evaluation during training, and events."""

from __future__ import annotations

import numpy as np

from ..algorithms import Algorithm
from ..engine import Engine
from ..runs import Record
from ..typing import Array, Event, Fields
from .consensus import consensus_columns
from .divergence import Divergence
from .drift_detection import DriftDetection
from .forgetting import forgetting_columns
from .median_columns import decisive_columns, median_columns
from .prequential import NOT_PREDICTED, prequential_columns
from .round_report import RoundReport, evaluation_columns, label_columns
from .training_state import Progress


class Evaluation:
    """Evaluates on at most so many clients, evenly spaced, and says what is unusual."""

    def __init__(
        self,
        engine: Engine,
        record: Record,
        clients: int,
        also: str | None = None,
        training_losses: bool = False,
    ) -> None:
        """Prepare evaluations.

        Args:
            engine: what computes.
            record: where a run is written down.
            clients: how many clients are evaluated at most.
            also: a metric of training rows that is asked for.
            training_losses: whether each client's loss on its training rows is recorded, too.
        """
        self._engine, self._record = engine, record
        self._also = also
        """A metric of training rows that is asked for beside the usual ones."""
        self._training_losses = training_losses
        everyone = len(engine.setting.federation)
        self.clients = np.linspace(0, everyone - 1, min(clients, everyone)).round().astype(np.int64)
        self.divergence = Divergence(record)
        setting = engine.setting
        self._drift = setting.stream and DriftDetection(setting.stream, record, setting.task.metrics)

    def add_to(self, report: RoundReport, now: Progress) -> dict[str, Array] | None:
        """Add metrics and events to a round's report; each client's own metrics are returned."""
        engine, messages = self._engine, now.messages
        place = (now.memories, report.round, self.clients)
        metrics, clients = evaluation_columns(engine, messages, *place)
        if messages.per_client:
            metrics |= consensus_columns(engine, messages, *place)
        also = self._also if self._also not in {**metrics, **report.metrics} else None
        if also is not None or self._training_losses:
            values = engine.evaluate(messages, now.memories, "train", report.round, self.clients)
            of_all, of_each = label_columns("train", values, engine.setting.task)
            if self._training_losses:
                clients = {"client": self.clients, **(clients or {}), "train_loss": of_each["train_loss"]}
            if also is not None:
                metrics[also] = of_all[also]
                if not engine.trusts_metrics:
                    metrics |= median_columns({also: of_each[also]})
        report.metrics.update(metrics)
        if engine.setting.stream is not None:
            clients = self._predict_arrivals(report, now, clients)
            report.metrics.update(
                forgetting_columns(engine, self._record, now, report.round, self.clients, metrics)
            )
        decisive = decisive_columns(report.metrics)
        astray = self.divergence.look(report.round, decisive, messages.tree)
        report.events.extend([*astray, *self._notices(now), *engine.events()])
        return clients

    def _predict_arrivals(
        self, report: RoundReport, now: Progress, clients: dict[str, Array] | None
    ) -> dict[str, Array] | None:
        """Add what the model predicts of rows before they are learned, where there are any."""
        found = prequential_columns(self._engine, now.messages, now.memories, report.round, self.clients)
        if found is None:
            if report.round == 0:
                report.events.append({"kind": NOT_PREDICTED})
            return clients
        of_all, of_each = found
        report.metrics.update(of_all)
        if self._drift:
            noticed, events = self._drift.look(report.round, of_each)
            report.metrics.update(noticed)
            report.events.extend(events)
        return {"client": self.clients, **(clients or {}), **of_each} if of_each else clients

    def _notices(self, now: Progress) -> list[Event]:
        """What the algorithm finds unusual in its clients' memories, and was not recorded before."""
        algorithm, seen = self._engine.setting.algorithm, now.memories.seen()
        if type(algorithm).notices is Algorithm.notices or not len(seen):
            return []
        rows = self._engine.setting.federation.train.sizes[seen]
        found = algorithm.notices(now.memories.gather(seen)[0], rows)
        known = [_gist(event) for event in self._record.events()] if found else []
        return [event for event in found if _gist(event) not in known]


def _gist(event: Fields) -> Event:
    """What makes an event that event, whenever it happened: its words and whole numbers."""
    return {k: v for k, v in event.items() if k != "round" and isinstance(v, str | int)}
