"""What does a fair method cost against FedAvg?

Rounds of every fair method relative to rounds of FedAvg in the same run: short trainings of the compared
methods alternate, and medians of seconds per round are taken, so that a busy neighbour bothers all alike.
GIFAIR, q-FFL and TERM should need at most 1.15 rounds of FedAvg.

    python benchmarks/fairness.py [--quick] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import unalike
from unalike import LocalWork, Task
from unalike.algorithms import algorithm_registry

METHODS = ("fedavg", "gifair", "gifair-per", "q-ffl", "term", "term-group", "afl", "fedmgda", "ditto")
LIMITED, LIMIT = ("gifair", "q-ffl", "term"), 1.15
Row = dict[str, Any]


def seconds_per_round(name: str, federation: unalike.Federation, task: Task, rounds: int) -> float:
    """The seconds of a training without evaluation, by round."""
    method = algorithm_registry.make(name, work=LocalWork(epochs=2, batch_size=32))
    start = time.perf_counter()
    unalike.train(federation, task, method, rounds=rounds, per_round=10, evaluate_every=0)
    return (time.perf_counter() - start) / rounds


def costs(hidden: int, rounds: int, times: int) -> list[Row]:
    """Every method against FedAvg, on digits with one hidden layer."""
    federation = unalike.load("digits", clients=20, partition="dirichlet:0.5", test_fraction=0.0)
    model = unalike.models.mlp(hidden, input_shape=federation.input_shape, outputs=10)
    task = Task.classification(model, 10)
    seconds: dict[str, list[float]] = {name: [] for name in METHODS}
    for turn in range(times + 1):
        for name in METHODS:
            spent = seconds_per_round(name, federation, task, rounds)
            if turn:  # the first turn compiles
                seconds[name].append(spent)
    middle = {name: float(np.median(values)) for name, values in seconds.items()}
    rows = [
        {
            "method": name,
            "hidden": hidden,
            "rounds of FedAvg": round(middle[name] / middle["fedavg"], 3),
            "limit": LIMIT if name in LIMITED else None,
        }
        for name in METHODS
    ]
    for row in rows:
        print(row, flush=True)
    return rows


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: does everything still run?")
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    options = parser.parse_args()
    rounds, times = (5, 1) if options.quick else (200, 7)
    rows = [row for hidden in (64, 512) for row in costs(hidden, rounds, times)]
    if options.out is not None:
        options.out.write_text(json.dumps(rows, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
