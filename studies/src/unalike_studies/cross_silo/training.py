"""Claims on trained strategies: federated against local models, and local models at other centers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unalike.data import load
from unalike.experiments.benchmark import BenchmarkResult, run_benchmark
from unalike.experiments.benchmark.table import COLUMNS, tidy_csv, tidy_rows
from unalike.typing import Float64s

from ..study import Claim, average
from .data import HEART, SURVIVAL, available

FEDERATED = ("fedavg", "fedprox", "scaffold", "fedadam", "fedyogi", "fedadagrad", "cyclic")
EVENTS, CLOSE = 10, 0.05


def training_claims(quick: bool) -> Iterator[Claim]:
    """Heart disease, survival, and the table that they leave."""
    for name in available(HEART)[:1]:  # generated patients stand in where the files are not there
        result = run_benchmark(name, _strategies(quick), seeds=2 if quick else 5, budget=1 if quick else 3)
        yield from heart_claims(result, hard=name == "heart-disease" and not quick)
        yield table_claim(result)
    for name in available(SURVIVAL)[:1]:
        wanted = ("pooled", "fedavg") if quick else ("pooled", "local", "fedavg")
        yield from survival_claims(run_benchmark(name, wanted, seeds=2 if quick else 5, budget=3))


def heart_claims(result: BenchmarkResult, hard: bool) -> Iterator[Claim]:
    """F2: on all centers' test patients, against the mean of models that centers trained alone."""
    name, alone = result.benchmark.name, together(result, "local")
    for strategy in result.strategies:
        if strategy in FEDERATED:
            gains = 100 * (together(result, strategy) - alone)
            words = f"{name}: {strategy} less the mean of local models on all test patients, in points"
            yield average("F2", words, gains.tolist(), 0.0, hard=hard)
    tables = [one.scores.elsewhere for one in result.of("local")]
    lost = [100 * transfer_loss(table) for table in tables if table is not None]
    words = f"{name}: local models at home less at other centers, in points"
    yield average("F2", words, lost, 0.0, hard=hard)
    own = 100 * (center_means(result, "fedavg") - center_means(result, "local"))
    words = f"{name}: fedavg less local, each at its own center, in points"
    note = "that every center gains is not implied by F2"
    yield average("F2", words, own.tolist(), 0.0, hard=False, note=note)


def survival_claims(result: BenchmarkResult) -> Iterator[Claim]:
    """F3: every center with events enough is ranked better than by chance, and FedAvg is near pooled."""
    name, rows = result.benchmark.name, load(result.benchmark.data, test_fraction=0.0)
    enough = [k for k in range(len(rows)) if (rows.train.client(k)[1] > 0).sum() >= EVENTS]
    for strategy in ("pooled", "fedavg"):
        mean = np.nanmean([one.scores.centers[enough] for one in result.of(strategy)], axis=0)
        words = f"{name}: least C-index of {len(enough)} centers with {EVENTS} events, {strategy}"
        holds = bool(np.min(mean) > 0.5)
        yield Claim("F3", words, None, "> 0.5", round(float(np.min(mean)), 4), holds)
    gap = float(np.mean(center_means(result, "fedavg") - center_means(result, "pooled")))
    words = f"{name}: C-index of fedavg less pooled, mean over centers"
    yield Claim("F3", words, None, f"within {CLOSE}", round(gap, 4), abs(gap) <= CLOSE)


def table_claim(result: BenchmarkResult) -> Claim:
    """F4: a line for every strategy, seed and center, beside means and all rows."""
    lines = tidy_csv(result).splitlines()
    expected = len(result.outcomes) * (len(result.centers) + 2)
    needed = {"dataset", "strategy", "center", "metric", "seed", "round"}
    holds = needed <= set(COLUMNS) == set(lines[0].split(",")) and len(tidy_rows(result)) == len(lines) - 1
    words = f"{result.benchmark.name}: lines of the tidy table"
    return Claim(
        "F4", words, None, float(expected), float(len(lines) - 1), holds and len(lines) - 1 == expected
    )


def together(result: BenchmarkResult, strategy: str) -> Float64s:
    """By seed: the metric on all centers' test rows."""
    return np.array([one.scores.together for one in result.of(strategy)])


def center_means(result: BenchmarkResult, strategy: str) -> Float64s:
    """By seed: the mean over centers."""
    return np.array([one.scores.mean for one in result.of(strategy)])


def transfer_loss(table: Float64s) -> float:
    """How much better models are where they were trained (diagonal) than at the other centers.

    >>> round(transfer_loss(np.array([[0.9, 0.5], [0.7, 0.8]])), 3)
    0.25
    """
    home = np.eye(len(table), dtype=bool)
    return float(np.nanmean(table[home]) - np.nanmean(table[~home]))


def _strategies(quick: bool) -> tuple[str, ...]:
    return ("local", "fedavg") if quick else ("pooled", "local", *FEDERATED)
