"""Is a simulated day bounded by the arithmetic, or by the event queue?

Ten thousand clients train a logistic regression asynchronously, each result one aggregation. The same
schedule is played without training (queue only) and with it; the queue's share of the time is the overhead. A
second table compares the same number of results as synchronous rounds of 100: what asynchrony costs per
result.

    python benchmarks/timing.py [--clients N] [--results R] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import unalike
from unalike import FedAvg, Federation, LocalWork, Optimizer, Task
from unalike.data.federation import Split
from unalike.timing import Asynchronous, Clients, FedBuff, FedFix, Timing
from unalike.timing.timeline import plan_steps

ROWS, FEATURES, CLASSES, BATCH, STEPS = 64, 784, 10, 32, 10
HARDWARE = "exponential:80"


def federation_of(clients: int) -> Federation:
    """Random images on equal clients; no test rows, so that nothing is evaluated."""
    rng = np.random.default_rng(0)
    x = rng.random((clients * ROWS, FEATURES), dtype=np.float32)
    y = rng.integers(0, CLASSES, clients * ROWS).astype(np.int32)
    empty = Split(x[:0], y[:0], np.zeros(clients + 1, np.int64))
    return Federation(Split(x, y, np.arange(clients + 1) * ROWS), empty, empty, CLASSES)


def queue_seconds(timing: Timing, clients: int, steps: int) -> float:
    """Playing the schedule alone."""
    endless = plan_steps(timing, Clients(np.full(clients, 1 / clients)))
    next(endless)  # everyone's first job
    start = time.perf_counter()
    for _ in islice(endless, steps):
        pass
    return time.perf_counter() - start


def train_seconds(federation: Federation, steps: int, **options: Any) -> float:
    """The second half of a training, after everything is compiled."""
    model = unalike.models.linear(input_shape=(FEATURES,), outputs=CLASSES)
    task = Task.classification(model, CLASSES)
    algorithm = FedAvg(work=LocalWork(steps=STEPS, batch_size=BATCH), optimizer=Optimizer("sgd", 0.01))
    times: list[float] = []
    watch = lambda report, total: times.append(time.perf_counter())  # noqa: E731
    unalike.train(federation, task, algorithm, rounds=2 * steps, evaluate_every=0, observer=watch, **options)
    return times[-1] - times[steps]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=10_000)
    parser.add_argument("--results", type=int, default=10_000, help="client results to aggregate")
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    chosen = parser.parse_args()
    federation = federation_of(chosen.clients)
    synchronous = train_seconds(federation, chosen.results // 100, per_round=100) / chosen.results
    rows = []
    policies = {
        "async": (Asynchronous(hardware=HARDWARE), 1),
        "fedbuff:10": (FedBuff(10, hardware=HARDWARE, weights="identical"), 10),
        "fedfix:0.01": (FedFix(0.01, hardware=HARDWARE), 200),
    }
    for name, (timing, together) in policies.items():
        steps = max(chosen.results // together, 10)
        queue = queue_seconds(timing, chosen.clients, steps)
        whole = train_seconds(federation, steps, timing=timing)
        results = steps * together
        rows.append(
            {
                "policy": name,
                "results": results,
                "queue us per result": 1e6 * queue / results,
                "training us per result": 1e6 * whole / results,
                "queue share": queue / whole,
                "synchronous rounds of 100, times faster": whole / results / synchronous,
            }
        )
        print(rows[-1], flush=True)
    if chosen.out:
        chosen.out.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
