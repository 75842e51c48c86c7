"""What does it cost to compute elsewhere?

One table compares rounds per second on this machine (one core, all cores) with Ray (one and two workers of
one core each): the same clients, batches and model, and the same answer. The other compares a deployment
between two Flower nodes with an app written by hand for Flower and PyTorch, on the same work, over loopback
with TLS: seconds per round, of which computing, and bytes on the wire.

    python benchmarks/engines.py [--rounds N] [--skip-flower] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

import unalike
from unalike import FedAvg, Federation, LocalWork, Optimizer, Task
from unalike.data.federation import Split

CLIENTS, COHORT, ROWS, BATCH, STEPS = 100, 10, 60, 20, 10
MODELS = {
    "logistic": ("linear", (784,)),
    "mlp": ("mlp:200,200", (784,)),
    "cnn": ("cnn", (28, 28, 1)),
}
ROUNDS = {"logistic": 50, "mlp": 10, "cnn": 1}
"""Rounds to measure, for each that the command line asks for."""
ENGINES = {
    "local, 1 core": {"engine": "local", "devices": 1},
    "local, all cores": {"engine": "local"},
    "ray, 1 worker": {"engine": "ray:1"},
    "ray, 2 workers": {"engine": "ray:2"},
}


def federation_of(shape: tuple[int, ...]) -> Federation:
    """Random images on equal clients; no test rows, so that nothing is evaluated."""
    rng = np.random.default_rng(0)
    x = rng.random((CLIENTS * ROWS, *shape), dtype=np.float32)
    y = rng.integers(0, 10, CLIENTS * ROWS).astype(np.int32)
    empty = Split(x[:0], y[:0], np.zeros(CLIENTS + 1, np.int64))
    return Federation(Split(x, y, np.arange(CLIENTS + 1) * ROWS), empty, empty, 10)


def seconds_a_round(name: str, rounds: int, options: dict[str, Any]) -> tuple[float, Any]:
    """Seconds of each of `rounds` more rounds when everything is compiled, and the model at the end."""
    spec, shape = MODELS[name]
    model = unalike.models.model_registry.make(spec, input_shape=shape, outputs=10)
    task = Task.classification(model, 10)
    algorithm = FedAvg(work=LocalWork(steps=STEPS, batch_size=BATCH), optimizer=Optimizer("sgd", 0.005))
    federation = federation_of(shape)

    def total(count: int) -> tuple[float, Any]:
        began = time.perf_counter()
        run = unalike.train(
            federation, task, algorithm, rounds=count, per_round=COHORT, evaluate_every=0, **options
        )
        jax.block_until_ready(run.state)
        return time.perf_counter() - began, run

    total(rounds)  # compiles; a Ray cluster keeps its workers for the next training
    short, _ = total(rounds)
    long, run = total(2 * rounds)
    return (long - short) / rounds, run.message


def engines(rounds: int) -> dict[str, Any]:
    """All models on all engines, one after the other; all must get the first engine's model."""
    answer: dict[str, Any] = {}
    for name in MODELS:
        times, models = {}, {}
        for engine, options in ENGINES.items():
            laps = [seconds_a_round(name, ROUNDS[name] * rounds, options) for _ in range(3)]
            times[engine] = statistics.median(lap for lap, _ in laps)
            models[engine] = laps[0][1]
        first = models[next(iter(ENGINES))]
        gap = max(unalike.core.pytrees.largest_difference(first, model) for model in models.values())
        answer[name] = {"seconds a round": times, "largest difference of models": gap}
    return answer


def show_engines(answer: dict[str, Any]) -> None:
    """A table with ratios to one core."""
    print(
        f"\n{COHORT} of {CLIENTS} clients, {STEPS} steps of {BATCH} rows; rounds a second (and x one core)\n"
    )
    print(f"{'':10}" + "".join(f"{engine:>24}" for engine in ENGINES) + f"{'difference':>14}")
    for name, found in answer.items():
        times = found["seconds a round"]
        one = times[next(iter(ENGINES))]
        cells = "".join(f"{1 / t:>15.1f} ({one / t:5.2f}x)" for t in times.values())
        print(f"{name:10}{cells}{found['largest difference of models']:>14.1e}")


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--skip-flower", action="store_true", help="only the first table")
    parser.add_argument("--skip-ray", action="store_true", help="only the second table")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    report: dict[str, Any] = {}
    if not options.skip_ray:
        report["engines"] = engines(options.rounds)
        show_engines(report["engines"])
    if not options.skip_flower:
        from deployments import deployments, show_deployments

        report["deployments"] = deployments(2 * options.rounds)
        show_deployments(report["deployments"])
    if options.out:
        options.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
