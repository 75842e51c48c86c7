"""What every adapter shares: reading a problem, timing rounds, scoring the final model, writing the result.

Adapters are run as `run_<peer>.py PROBLEM.npz --rounds R --warmup W --out result.json` by the peer's own
interpreter, so this module needs nothing but NumPy and the standard library.
"""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Data:
    """One problem file in memory; see `problems.py` for the meaning of the arrays."""

    hyper: dict[str, Any]
    x: np.ndarray
    y: np.ndarray
    offsets: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    cohorts: np.ndarray
    batches: np.ndarray
    weights: dict[str, np.ndarray]

    def clients(self, round_index: int) -> np.ndarray:
        """The cohort of a round; the schedule starts again when it is used up."""
        return self.cohorts[round_index % len(self.cohorts)]

    def steps(self, round_index: int) -> np.ndarray:
        """The rows of a round's local steps: cohort x steps x batch."""
        return self.batches[round_index % len(self.batches)]

    def rows_of(self, client: int) -> int:
        """How many rows a client owns: its weight in the average."""
        return int(self.offsets[client + 1] - self.offsets[client])

    def shares(self, round_index: int) -> np.ndarray:
        """The aggregation weights of a round's cohort, which sum to one."""
        rows = np.array([self.rows_of(client) for client in self.clients(round_index)], float)
        return rows / rows.sum()


@dataclass(frozen=True)
class Job:
    """What an adapter was asked to do."""

    problem: Path
    rounds: int
    warmup: int
    out: Path

    @property
    def total(self) -> int:
        """Rounds to run, warm-up included."""
        return self.rounds + self.warmup


def read_job() -> Job:
    """Read the adapter's command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("problem", type=Path)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--warmup", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    return Job(**vars(parser.parse_args()))


def read_data(path: Path, **given: np.ndarray) -> Data:
    """Read a problem file; the first weights are keyed `<layer>.<name>`. Arrays that an adapter has `given`
    itself are not read."""
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: given[name] if name in given else stored[name] for name in stored.files}
    hyper = json.loads(str(arrays.pop("hyper")))
    first = {name: arrays.pop(name) for name in list(arrays) if name.startswith("init.")}
    return Data(hyper=hyper, weights={k.removeprefix("init."): v for k, v in first.items()}, **arrays)


def layer_weights(data: Data, index: int) -> dict[str, np.ndarray]:
    """The first weights of one layer, by name."""
    prefix = f"{index}."
    return {k.removeprefix(prefix): v for k, v in data.weights.items() if k.startswith(prefix)}


class Laps:
    """A stop-watch with one lap per round."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._last = time.perf_counter()

    def start(self) -> None:
        """Begin a lap: what happened since the last one is not counted."""
        self._last = time.perf_counter()

    def lap(self) -> None:
        """End a lap and begin the next."""
        now = time.perf_counter()
        self.seconds.append(now - self._last)
        self._last = now


def score(logits: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Accuracy and mean cross-entropy of a model's outputs, in double precision."""
    outputs = logits.astype(np.float64)
    shifted = outputs - outputs.max(axis=1, keepdims=True)
    log_sum = np.log(np.exp(shifted).sum(axis=1))
    loss = float(np.mean(log_sum - shifted[np.arange(len(y)), y]))
    return float(np.mean(outputs.argmax(axis=1) == y)), loss


def chunks(rows: int, size: int = 500) -> Iterator[slice]:
    """Slices over the test rows, small enough for convolutions."""
    return (slice(start, start + size) for start in range(0, rows, size))


def finish(
    job: Job,
    data: Data,
    laps: Laps,
    logits: np.ndarray,
    peer: str,
    package: str | None = None,
    same_batches: bool = True,
    threads: str | int | None = None,
    peak_mb: float | None = None,
    remark: str = "",
) -> None:
    """Score the final model and write the result the driver reads."""
    accuracy, loss = score(logits, data.y_test)
    result = {
        "peer": peer,
        "version": version(package or peer),
        "problem": data.hyper["name"],
        "seconds_per_round": laps.seconds[job.warmup :],
        "warmup_seconds": laps.seconds[: job.warmup],
        "peak_rss_mb": round(peak_mb or own_peak_mb(), 1),
        "final_accuracy": accuracy,
        "final_loss": loss,
        "same_batches": same_batches,
        "threads": threads or cores(),
        "data": data.hyper["data"],
        "remark": remark,
    }
    job.out.write_text(json.dumps(result, indent=1))


def cores() -> int:
    """The number of cores that every peer may use."""
    return os.cpu_count() or 1


def own_peak_mb() -> float:
    """The highest resident memory of this process so far."""
    status = Path("/proc/self/status")
    if status.exists():
        return field_kb(status.read_text(), "VmHWM:") / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def field_kb(text: str, name: str) -> float:
    """One `Name:  123 kB` line of a file under /proc; 0 when it is absent."""
    for line in text.splitlines():
        if line.startswith(name):
            return float(line.split()[1])
    return 0.0


class TreeMemory(threading.Thread):
    """Samples the memory of this process and all its descendants and keeps the highest sum.

    Pages shared between processes are counted once (proportional set size), so that actors on one object
    store are not charged for it several times.
    """

    def __init__(self, period: float = 0.5) -> None:
        super().__init__(daemon=True)
        self.peak_mb = 0.0
        self.period = period

    def run(self) -> None:
        """Sample until the process ends."""
        while True:
            self.sample()
            time.sleep(self.period)

    def sample(self) -> None:
        """Take one sample."""
        self.peak_mb = max(self.peak_mb, sum(map(process_mb, process_tree(os.getpid()))))


def process_tree(root: int) -> list[int]:
    """A process and its descendants, found under /proc."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            children.setdefault(parent_of(folder), []).append(int(folder.name))
    found = [root]
    for process in found:
        found.extend(children.get(process, []))
    return found


def parent_of(folder: Path) -> int:
    """The parent of a process; -1 for one that has just ended."""
    try:
        return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return -1


def process_mb(process: int) -> float:
    """Proportional memory of one process; 0 for one that has just ended."""
    try:
        return field_kb(Path(f"/proc/{process}/smaps_rollup").read_text(), "Pss:") / 1024
    except OSError:
        return 0.0
