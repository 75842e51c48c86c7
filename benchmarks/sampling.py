"""How does drawing a cohort grow with the population?

A hundred clients of n = 10^3 to 10^6 with log-normal importances. Set-up is paid once a run, a draw every
round; the yardstick in the same run is NumPy's `choice` with probabilities, which looks at every client every
time. A second table is the upkeep of similarity clusters: all distances again, or only the rows of the
sampled clients.

    python benchmarks/sampling.py [--out FILE.json]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from unalike.participation import RoundContext, sampler_registry

PER_ROUND = 100
POPULATIONS = (10**3, 10**4, 10**5, 10**6)
SCHEMES = ("md", "uniform", "uniform-with-replacement", "binomial", "poisson", "clustered-size")
WEIGHTS, SAMPLED = 39_760, 10


def sizes_of(clients: int) -> np.ndarray:
    """Rows of each client: log-normal, none so large that Poisson sampling becomes impossible."""
    rng = np.random.default_rng(0)
    return np.minimum(rng.lognormal(4, 0.7, clients).astype(np.int64) + 10, 400)


def seconds(work: Callable[[], Any], least: float = 0.3) -> float:
    """Seconds of one call: the best of three averages, each over a third of a second."""
    best = np.inf
    for _ in range(3):
        count, start = 0, time.perf_counter()
        while (spent := time.perf_counter() - start) < least:
            work()
            count += 1
        best = min(best, spent / count)
    return float(best)


def draws(clients: int) -> list[dict[str, Any]]:
    """Set-up and draw time of every scheme, and the draw's ratio to NumPy's."""
    sizes = sizes_of(clients)
    importance = sizes / sizes.sum()
    rng = np.random.default_rng(1)
    yardstick = seconds(lambda: rng.choice(clients, PER_ROUND, p=importance))
    rows = []
    for name in SCHEMES:
        sampler = sampler_registry.make(name, per_round=PER_ROUND, sizes=sizes, seed=0)
        turn = RoundContext(0, importance)
        start = time.perf_counter()
        sampler.cohort(turn)
        set_up = time.perf_counter() - start
        draw = seconds(lambda: sampler.draw(importance, rng))  # noqa: B023
        rows.append(
            {
                "clients": clients,
                "scheme": name,
                "set-up ms": 1e3 * set_up,
                "draw us": 1e6 * draw,
                "times faster than numpy's choice": yardstick / draw,
            }
        )
    return rows


def upkeep(clients: int) -> dict[str, Any]:
    """All distances between updates against the rows of ten sampled clients only."""
    from unalike.participation.samplers.similarity import distance_rows, distances

    updates = np.random.default_rng(0).standard_normal((clients, WEIGHTS)).astype(np.float32)
    some = np.arange(SAMPLED) * (clients // SAMPLED)
    whole = seconds(lambda: distances("arccos", updates), least=0.1)
    rows = seconds(lambda: distance_rows("arccos", updates, some), least=0.1)
    return {"clients": clients, "all ms": 1e3 * whole, "rows ms": 1e3 * rows, "ratio": whole / rows}


def show(rows: list[dict[str, Any]]) -> None:
    """Print rows as a table."""
    print(" | ".join(rows[0]))
    for row in rows:
        print(" | ".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()))


def main() -> None:
    """Measure and print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    chosen = parser.parse_args()
    drawn = [row for clients in POPULATIONS for row in draws(clients)]
    show(drawn)
    kept = [upkeep(clients) for clients in (100, 1000)]
    show(kept)
    if chosen.out:
        chosen.out.write_text(json.dumps({"draws": drawn, "upkeep": kept}, indent=2))


if __name__ == "__main__":
    main()
