"""What does a server pay for not trusting everyone?

Every robust rule on the same uploads, relative to the plain weighted sum of them in the same run: calls of
the compared rules alternate, and medians are taken. Where `byzfl` can be imported, some rules are also
computed by it, and the largest difference is printed.

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

from unalike.aggregation.base import aggregator_registry
from unalike.trust.robust import RobustRule, Votes

RULES = (
    *("median", "trimmed-mean:0.2", "krum:2", "multi-krum:2,5", "bulyan:2", "geometric-median:8"),
    *("centred-clipping:1,3", "nnm:2,mean", "nnm:2,trimmed-mean:0.2", "bucketing:2,median"),
)
OUTSIDE = {
    "median": ("Median", {}),
    "trimmed-mean:0.2": ("TrMean", {"f": 4}),
    "centred-clipping:1,3": ("CenteredClipping", {"L": 3, "tau": 1.0}),
}
"""Rules of ByzFL that should give the same for 20 uploads of equal weight."""
Row = dict[str, Any]


def uploads(clients: int, parameters: int) -> Votes:
    """Random changes of equal weight."""
    rows = np.random.default_rng(0).normal(size=(clients, parameters)).astype(np.float32)
    return Votes(jnp.asarray(rows), jnp.ones(clients), jnp.full(clients, 1 / clients), jax.random.key(0))


def caller(rule: RobustRule, votes: Votes) -> Callable[[], Any]:
    """A function that computes the compiled rule once and waits for it."""
    compiled = jax.jit(rule.estimate)
    return lambda: jax.block_until_ready(compiled(votes))


def medians(functions: dict[str, Callable[[], Any]], times: int) -> dict[str, float]:
    """The median seconds of each function, called in turn."""
    for function in functions.values():
        function(), function()
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(times):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            seconds[name].append(time.perf_counter() - start)
    return {name: float(np.median(values)) for name, values in seconds.items()}


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
        "differences": differences(),
    }
    if chosen.out:
        chosen.out.write_text(json.dumps(tables, indent=2))


if __name__ == "__main__":
    main()
