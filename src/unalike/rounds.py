"""What is worth knowing of a round?  (The numbers that are recorded, and how they are computed.)"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .data import Federation
from .engine import Engine, Memories, Report
from .timing import Step
from .trees import Tree


@dataclass
class RoundReport:
    """One round's numbers; round 0 is the start."""

    round: int
    metrics: dict[str, float] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    seconds: float | None = None


def round_report(step: Step, said: Report, down: int, up: int, name: Callable[[int], str]) -> RoundReport:
    """Participation, training loss and traffic; `down` and `up` are the bytes of one message and of one
    upload."""
    number = step.number + 1
    if not said:
        empty = {"participants": 0.0, "rejected": 0.0, "bytes_down": 0.0, "bytes_up": 0.0, "clock": step.time}
        return RoundReport(number, empty, [{"kind": "empty round"}])
    reports = {key: np.asarray(values, np.float64) for key, values in said.items()}
    accepted = reports.pop("accepted") > 0
    weights = np.where(accepted, step.weights if step.weights.ndim == 1 else 1.0, 0.0)
    metrics = {key: _mean(values, weights) for key, values in reports.items()}
    metrics |= {
        "participants": float(len(step.clients)),
        "rejected": float((~accepted).sum()),
        "weight_sum": float(step.weights.sum()),
        "bytes_down": float(down * len(step.clients)),
        "bytes_up": float(up * len(step.clients)),
        "clock": step.time,
    }
    events = [
        {"kind": "rejected upload", "client": int(c), "name": name(int(c))} for c in step.clients[~accepted]
    ]
    return RoundReport(number, metrics, events)


def evaluation_columns(
    engine: Engine,
    message: Tree,
    memories: Memories,
    round: int,
    clients: NDArray[np.int64],
    federation: Federation,
) -> tuple[dict[str, float], dict[str, Any] | None]:
    """Test (and validation) metrics: means over all samples, and each client's own."""
    metrics: dict[str, float] = {}
    columns: dict[str, Any] = {}
    for split in ("test", "validation"):
        if not len(getattr(federation, split).y):
            continue
        values = engine.evaluate(message, memories, split, round, clients)
        samples = values.pop("samples")
        columns[f"{split}_samples"] = samples
        for key, value in values.items():
            root = key == "mse"  # means of squares compose, their roots are what people read
            name = f"{split}_rmse" if root else f"{split}_{key}"
            columns[name] = np.sqrt(value) if root else value
            metrics[name] = float(np.sqrt(_mean(value, samples))) if root else _mean(value, samples)
    if not metrics:
        return {}, None
    offsets = federation.train.offsets
    trained_on = offsets[clients + 1] - offsets[clients]
    return metrics, {"client": clients, "train_samples": trained_on, **columns}


def _mean(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """The weighted mean over the entries that count; NaN when none does."""
    counted = weights > 0
    return float(np.average(values[counted], weights=weights[counted])) if counted.any() else float("nan")
