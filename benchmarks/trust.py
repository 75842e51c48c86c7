"""What does a server pay for not trusting everyone?

Every robust rule on the same uploads, relative to the plain weighted sum of them in the same run: calls of
the compared rules alternate, and medians are taken. Where `byzfl` can be imported, some rules are also
computed by it, and the largest difference is printed. A second table has whole rounds of FedAvg (digits, 50
clients, 10 in a round, 5 passes) with the ledger of unlearning, a monitor, and two rules, relative to rounds
with the plain sum.

    python benchmarks/trust.py [--quick] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from measuring import medians

import unalike
from unalike import FedAvg, LocalWork, Task
from unalike.aggregation.base import Aggregator, WeightedSum, aggregator_registry
from unalike.aggregation.robust import RobustRule, Votes
from unalike.trust.monitor import Monitor, MonitorState
from unalike.trust.unlearning.measured_uploads import MeasuredUploads

RULES = (
    *("median", "trimmed-mean:0.2", "krum:2", "multi-krum:2,5", "bulyan:2", "geometric-median:8"),
    *("centered-clipping:1,3", "nnm:2,mean", "nnm:2,trimmed-mean:0.2", "bucketing:2,median"),
)
OUTSIDE = {
    "median": ("Median", {}),
    "trimmed-mean:0.2": ("TrMean", {"f": 4}),
    "centered-clipping:1,3": ("CenteredClipping", {"L": 3, "tau": 1.0}),
}
"""Rules of ByzFL that should give the same for 20 uploads of equal weight."""
MODELS = (unalike.models.linear, lambda **shape: unalike.models.mlp(200, **shape))
Row = dict[str, Any]


def uploads(clients: int, parameters: int) -> Votes:
    """Random changes of equal weight."""
    rows = np.random.default_rng(0).normal(size=(clients, parameters)).astype(np.float32)
    return Votes(jnp.asarray(rows), jnp.ones(clients), jnp.full(clients, 1 / clients), jax.random.key(0))


def caller(rule: RobustRule, votes: Votes) -> Callable[[], Any]:
    """A function that computes the compiled rule once and waits for it."""
    compiled = jax.jit(rule.estimate)
    return lambda: jax.block_until_ready(compiled(votes))


def costs(clients: int, parameters: int, times: int) -> list[Row]:
    """Every rule against the weighted sum."""
    votes = uploads(clients, parameters)
    rules = {name: aggregator_registry.make(name) for name in ("mean", *RULES)}
    callers = {name: caller(rule, votes) for name, rule in rules.items() if isinstance(rule, RobustRule)}
    seconds = medians(callers, times)
    rows = [
        {"rule": name, "uploads": clients, "parameters": parameters, "sums": seconds[name] / seconds["mean"]}
        for name in RULES
    ]
    for row in rows:
        print(row, flush=True)
    return rows


def rounds_of(model: Any, rounds: int, repeats: int) -> list[Row]:
    """Whole rounds with what looks at single uploads, against rounds with the plain sum."""
    federation = unalike.load("digits", clients=50, seed=0)
    task = Task.classification(model(input_shape=federation.input_shape, outputs=10), 10)
    method = FedAvg(work=LocalWork(epochs=5, batch_size=8))
    watched: dict[str, Callable[[], Aggregator]] = {
        "plain sum": WeightedSum,
        "ledger": MeasuredUploads,
        "monitor": lambda: Monitor(MonitorState(50)),
        "median": lambda: aggregator_registry.make("median"),
        "nnm:2,trimmed-mean:0.2": lambda: aggregator_registry.make("nnm:2,trimmed-mean:0.2"),
    }
    seconds: dict[str, list[float]] = {name: [] for name in watched}
    for _ in range(repeats):
        for name, make in watched.items():
            times: list[float] = []
            unalike.train(
                federation,
                task,
                method,
                rounds=2 * rounds,
                per_round=10,
                aggregator=make(),
                evaluate_every=0,
                observer=lambda report, total, times=times: times.append(time.perf_counter()),
            )
            seconds[name].append((times[-1] - times[rounds]) / (len(times) - 1 - rounds))
    plain = float(np.median(seconds["plain sum"]))
    parameters = sum(leaf.size for leaf in jax.tree.leaves(task.init(jax.random.key(0))))
    rows = [
        {"round with": name, "parameters": parameters, "plain rounds": float(np.median(values)) / plain}
        for name, values in seconds.items()
    ]
    for row in rows:
        print(row, flush=True)
    return rows


def differences() -> list[Row]:
    """How far ByzFL's answers are from ours; nothing where it is not installed."""
    if importlib.util.find_spec("byzfl") is None:
        print("byzfl is not installed: no second oracle.")
        return []
    import byzfl

    votes, found = uploads(20, 1000), []
    for name, (theirs, options) in OUTSIDE.items():
        rule = aggregator_registry.make(name)
        assert isinstance(rule, RobustRule)
        answer = getattr(byzfl, theirs)(**options)(np.asarray(votes.rows))
        gap = float(np.abs(np.asarray(answer) - np.asarray(rule.estimate(votes))).max())
        found.append({"rule": name, "largest difference to byzfl": gap})
        print(found[-1], flush=True)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, small models only")
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    chosen = parser.parse_args()
    sizes = [(20, 10_000)] if chosen.quick else [(20, 10_000), (20, 1_000_000), (100, 100_000)]
    tables = {
        "costs": [row for size in sizes for row in costs(*size, 5 if chosen.quick else 21)],
        "rounds": [row for model in MODELS for row in rounds_of(model, 20, 2 if chosen.quick else 5)],
        "differences": differences(),
    }
    if chosen.out:
        chosen.out.write_text(json.dumps(tables, indent=2))


if __name__ == "__main__":
    main()
