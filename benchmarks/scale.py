"""How do time and memory grow with cores, clients and cohorts, and how quick is a second start?

Every figure is a ratio of two measurements made one after the other, each in a process of its own:

    python benchmarks/scale.py [--only cores,population,cohort,start] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROUNDS = 9
Measured = dict[str, float]


def train_rounds(
    clients: int, per_round: int, model: str, rows: int, batch: int, steps: int, rounds: int = ROUNDS
) -> Measured:
    """Median seconds of a round and peak memory for random images on equal clients."""
    import numpy as np

    import unalike
    from unalike import FedAvg, Federation, LocalWork, Optimizer, Task
    from unalike.data.federation import Split

    rng = np.random.default_rng(0)
    shape = (28, 28, 1) if model.startswith("cnn") else (int(os.environ.get("SCALE_WIDTH", 784)),)
    x = rng.random((clients * rows, *shape), dtype=np.float32)
    y = rng.integers(0, 10, clients * rows).astype(np.int32)
    offsets = np.arange(clients + 1) * rows
    empty = Split(x[:0], y[:0], np.zeros(clients + 1, np.int64))
    federation = Federation(Split(x, y, offsets), empty, empty, 10)
    task = Task.classification(unalike.models.model_registry.make(model, input_shape=shape, outputs=10), 10)
    algorithm = FedAvg(work=LocalWork(steps=steps, batch_size=batch), optimizer=Optimizer("sgd", 0.01))
    times: list[float] = []
    highest = 0.0
    for _ in range(2):  # the first time compiles
        times.clear()
        highest, resting = max(highest, memory_mb("VmHWM")), memory_mb("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # starts a new peak
        unalike.train(
            federation,
            task,
            algorithm,
            rounds=rounds,
            per_round=per_round,
            evaluate_every=0,
            observer=lambda report, total: times.append(time.perf_counter()),
        )
    parameters = unalike.core.pytrees.size(task.init(unalike.engine.root_key(0, "size")))
    return {
        "seconds": (times[-1] - times[0]) / rounds,
        "peak_mb": max(highest, memory_mb("VmHWM")),
        "training_mb": memory_mb("VmHWM") - resting,
        "model_mb": parameters * 4 / 2**20,
    }


def memory_mb(name: str) -> float:
    """The resident memory of this process: now (VmRSS) or at its highest (VmHWM)."""
    status = Path("/proc/self/status").read_text()
    return next(float(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith(name))


def measure(cores: int | None = None, width: int = 784, **arguments: Any) -> Measured:
    """One measurement in a process of its own, on the first `cores` cores."""
    command = [sys.executable, __file__, "--measure", json.dumps(arguments)]
    limit = (lambda: os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:cores]))) if cores else None
    started = time.perf_counter()
    environment = {**os.environ, "SCALE_WIDTH": str(width)}
    answer = subprocess.run(
        command, capture_output=True, text=True, preexec_fn=limit, env=environment, check=False
    )
    if answer.returncode:
        raise RuntimeError(answer.stderr.strip().splitlines()[-1])
    return {**json.loads(answer.stdout.splitlines()[-1]), "wall": time.perf_counter() - started}


def cores() -> list[dict[str, Any]]:
    """All cores against one."""
    rows = []
    for model, rounds in (("mlp:200,200", 30), ("cnn", 5)):
        work = {
            "clients": 100,
            "per_round": 10,
            "model": model,
            "rows": 320,
            "batch": 32,
            "steps": 10,
            "rounds": rounds,
        }
        one, all_cores = measure(1, **work), measure(None, **work)
        ratio = one["seconds"] / all_cores["seconds"]
        rows.append(
            line(f"{model}: {os.cpu_count()} cores against 1", "times faster", ratio, ">= 1.7", ratio >= 1.7)
        )
    return rows


def population() -> list[dict[str, Any]]:
    """A million clients against a thousand, with the same cohort."""
    work = {"per_round": 100, "model": "mlp:64", "rows": 8, "batch": 8, "steps": 5, "rounds": 30, "width": 32}
    small, large = measure(clients=1_000, **work), measure(clients=1_000_000, **work)
    ratio = large["seconds"] / small["seconds"]
    return [
        line("round time, 1,000,000 clients against 1,000", "ratio", ratio, "<= 1.3", ratio <= 1.3),
        line("peak memory with 1,000,000 clients", "MB", large["peak_mb"], "< 3000", large["peak_mb"] < 3000),
    ]


def cohort() -> list[dict[str, Any]]:
    """A cohort of ten thousand against a hundred, with a model of about a million parameters."""
    work = {"clients": 10_000, "model": "mlp:1200", "rows": 4, "batch": 4, "steps": 1, "rounds": 4}
    small, large = measure(per_round=100, **work), measure(per_round=10_000, **work)
    models = (large["training_mb"] - small["training_mb"]) / small["model_mb"]
    words = f"peak memory of training, cohort 10,000 against 100 ({small['model_mb']:.1f} MB model)"
    return [line(words, "models more", models, "< 2", models < 2)]


def start() -> list[dict[str, Any]]:
    """From an empty process to the end of the first round, with programs already in the cache on disk."""
    seconds = []
    for _ in range(4):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", FIRST_ROUND], check=True)
        seconds.append(time.perf_counter() - began)
    later = sorted(seconds[1:])[1]
    return [line("second start, to the end of the first round", "s", later, "< 3", later < 3)]


FIRST_ROUND = """
import unalike
federation = unalike.load("digits", partition="dirichlet:0.3", clients=50, seed=1)
task = unalike.Task.classification(unalike.models.mlp(64, input_shape=(8, 8, 1), outputs=10), 10)
unalike.train(federation, task, unalike.FedAvg(), rounds=1, per_round=10, seed=1)
"""


def line(what: str, unit: str, value: float, goal: str, reached: bool) -> dict[str, Any]:
    """One row of the table."""
    return {"what": what, "value": round(value, 3), "unit": unit, "goal": goal, "reached": reached}


def main() -> None:
    """Measure what was asked for, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="cores,population,cohort,start")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(train_rounds(**json.loads(arguments.measure))))
        return
    rows = [row for name in arguments.only.split(",") for row in globals()[name]()]
    for row in rows:
        verdict = "yes" if row["reached"] else "NO"
        print(f"{row['what']:<70} {row['value']:>10} {row['unit']:<14} goal {row['goal']:<8} {verdict}")
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
