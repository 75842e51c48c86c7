"""What does a stream cost?

A round of FedAvg with a hundred of a thousand clients: with a stream of which each client keeps the newest
100 rows, and without one, on clients that have 100 rows. Both train on as many rows; pieces of the two
trainings alternate in one run, and the ratio is that of the medians. A second table plans a million arrivals:
what all clients hold and count, round after round, without any training.

    python benchmarks/streams.py [--rounds R] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import unalike
from unalike import FedAvg, Federation, LocalWork, MemoryStream, Optimizer, Task
from unalike.data.federation import Split

CLIENTS, MEMORY, PER_ROUND, CLASSES, BATCH, STEPS = 1_000, 100, 100, 10, 32, 10
REPEATS = 3
MODELS = {"linear, 784 inputs": ("linear", 784), "MLP 784-200-10": ("mlp", 784)}
STREAMS = ("constant:10", "poisson:10", "bursts:100,10")
ARRIVALS = 1_000_000


def federation_of(clients: int, rows: int, features: int) -> Federation:
    """Random rows on equal clients; no test rows, so that nothing is evaluated."""
    rng = np.random.default_rng(0)
    x = rng.random((clients * rows, features), dtype=np.float32)
    y = rng.integers(0, CLASSES, clients * rows).astype(np.int32)
    empty = Split(x[:0], y[:0], np.zeros(clients + 1, np.int64))
    return Federation(Split(x, y, np.arange(clients + 1) * rows), empty, empty, CLASSES)


def round_seconds(federation: Federation, task: Task, rounds: int, stream: MemoryStream | None) -> float:
    """Seconds of one round in the second half of a training, when everything is compiled."""
    algorithm = FedAvg(work=LocalWork(steps=STEPS, batch_size=BATCH), optimizer=Optimizer("sgd", 0.01))
    times: list[float] = []
    watch = lambda report, total: times.append(time.perf_counter())  # noqa: E731
    unalike.train(
        federation,
        task,
        algorithm,
        rounds=2 * rounds,
        per_round=PER_ROUND,
        stream=stream,
        evaluate_every=0,
        observer=watch,
    )
    return (times[-1] - times[rounds]) / (len(times) - 1 - rounds)


def cost_of_a_round(name: str, kind: str, features: int, rounds: int) -> dict[str, Any]:
    """Rounds with and without a stream, one after the other, several times."""
    make = unalike.models.linear if kind == "linear" else lambda **shape: unalike.models.mlp(200, **shape)
    task = Task.classification(make(input_shape=(features,), outputs=CLASSES), CLASSES)
    whole = federation_of(CLIENTS, 2 * MEMORY, features)
    fixed = federation_of(CLIENTS, MEMORY, features)
    seconds: dict[str, list[float]] = {"with": [], "without": []}
    for _ in range(REPEATS):
        stream = MemoryStream(
            "constant:100", MEMORY, "uniform"
        )  # full from round 0 on, other rows in round 1
        seconds["with"].append(round_seconds(whole, task, rounds, stream))
        seconds["without"].append(round_seconds(fixed, task, rounds, None))
    held, free = (float(np.median(values)) for values in seconds.values())
    return {"model": name, "stream ms": 1e3 * held, "none ms": 1e3 * free, "ratio (goal 1.15)": held / free}


def plan_seconds(arrivals: str) -> dict[str, Any]:
    """All rounds in which a million rows arrive at a thousand clients: rows held, shares, a cohort's rows."""
    rounds = ARRIVALS // CLIENTS // 10
    federation = federation_of(CLIENTS, ARRIVALS // CLIENTS, 1)
    stream = MemoryStream(arrivals, MEMORY, "uniform")
    start = time.perf_counter()
    stream.begin(federation, 0, rounds)
    begun = time.perf_counter()
    cohort = np.arange(PER_ROUND)
    for t in range(rounds):
        stream.importance(t)
        stream.select(t, cohort)
    spent = time.perf_counter() - start
    arrived = int(stream.arrivals.arrived(rounds - 1).sum())
    return {
        "arrivals": arrivals,
        "rounds": rounds,
        "rows": arrived,
        "begin s": begun - start,
        "all s (goal 1)": spent,
    }


def show(rows: list[dict[str, Any]]) -> None:
    """Print rows as a table."""
    print(" | ".join(rows[0]))
    for row in rows:
        print(" | ".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()), flush=True)


def main() -> None:
    """Measure and print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=8, help="rounds of each timed piece")
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    chosen = parser.parse_args()
    plans = [plan_seconds(arrivals) for arrivals in STREAMS]
    show(plans)
    rounds = []
    for name, how in MODELS.items():
        rounds.append(cost_of_a_round(name, *how, chosen.rounds))
        show(rounds[-1:])
    if chosen.out:
        chosen.out.write_text(json.dumps({"plans": plans, "rounds": rounds}, indent=2))


if __name__ == "__main__":
    main()
