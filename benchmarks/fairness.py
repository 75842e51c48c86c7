"""What does a fair method cost against FedAvg?

Rounds of every fair method relative to rounds of FedAvg in the same run: short trainings of the compared
methods alternate, and medians of seconds per round are taken, so that a busy neighbor bothers all alike.
GIFAIR, q-FFL and TERM should need at most 1.15 rounds of FedAvg.

As published, their clients look at all their rows once more to tell their loss. Of a dense network a pass
forward costs about a half (one layer) to a third (many) of a step forward and back over the same rows, so
that by arithmetic alone E epochs become 1 + 1/(3E) to 1 + 1/(2E) rounds: 1.17 to 1.25 for E = 2, and 1.07 to
1.10 for E = 5, to which a few hundredths for multipliers and reports are added. Small rounds, of which
planning is the larger part, cost less. With `training_loss` the pass is left out.

    python benchmarks/fairness.py [--quick] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measuring import medians

import unalike
from unalike import LocalWork, Task
from unalike.algorithms import algorithm_registry

FREE = "training_loss"
METHODS = (
    *("fedavg", "gifair", "q-ffl", "term"),
    *(f"{name}, {FREE}" for name in ("gifair", "q-ffl", "term")),
    *("gifair-per", "term-group", "afl", "fedmgda", "ditto"),
)
LIMITED, LIMIT = ("gifair", "q-ffl", "term"), 1.15
Row = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """How large a round is: a data set, hidden units, epochs, and rounds that are timed together."""

    data: str
    hidden: int
    epochs: int
    rounds: int


SIZES = (Size("digits", 64, 2, 200), Size("digits", 512, 2, 50), Size("28 x 28", 128, 5, 10))


def load(data: str) -> unalike.Federation:
    """Digits, or as many rows of the size of MNIST's, made up."""
    if data == "digits":
        return unalike.load("digits", clients=20, partition="dirichlet:0.5", test_fraction=0.0)
    rng = np.random.default_rng(0)
    rows = {
        str(k): (rng.random((600, 28, 28), np.float32), rng.integers(0, 10, 600).astype(np.int32))
        for k in range(20)
    }
    return unalike.Federation.from_clients(rows, test_fraction=0.0)


def training(name: str, size: Size, federation: unalike.Federation, task: Task) -> Callable[[], Any]:
    """A training without evaluation."""
    plain, _, option = name.partition(", ")
    chosen = {option: True} if option else {}
    method = algorithm_registry.make(plain, work=LocalWork(epochs=size.epochs, batch_size=32), **chosen)
    return lambda: unalike.train(federation, task, method, rounds=size.rounds, per_round=10, evaluate_every=0)


def costs(size: Size, times: int) -> list[Row]:
    """Every method against FedAvg, with one hidden layer."""
    federation = load(size.data)
    model = unalike.models.mlp(size.hidden, input_shape=federation.input_shape, outputs=10)
    task = Task.classification(model, 10)
    seconds = medians({name: training(name, size, federation, task) for name in METHODS}, times, warm_up=1)
    rows = [
        row(name, size, seconds[name] / seconds["fedavg"], seconds[name] / size.rounds) for name in METHODS
    ]
    for one in rows:
        print(one, flush=True)
    return rows


def row(name: str, size: Size, ratio: float, seconds: float) -> Row:
    """What is printed of a method, with the goal where it has one."""
    limited = name.partition(", ")[0] in LIMITED
    return {
        "method": name,
        "data": size.data,
        "hidden": size.hidden,
        "epochs": size.epochs,
        "milliseconds": round(1e3 * seconds, 2),
        "rounds of FedAvg": round(ratio, 3),
        "goal": f"at most {LIMIT}: {'met' if ratio <= LIMIT else 'NOT met'}" if limited else "",
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: does everything still run?")
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    options = parser.parse_args()
    sizes = [Size(s.data, s.hidden, s.epochs, 2 if options.quick else s.rounds) for s in SIZES]
    rows = [one for size in sizes for one in costs(size, 1 if options.quick else 7)]
    if options.out is not None:
        options.out.write_text(json.dumps(rows, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
