"""Benchmark tables: a tidy table with one number per line, and a table for a paper."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...core.csv_text import csv_text
from ...core.latex import escape_latex, latex_table
from ...runs.statistics import mean_interval
from ...typing import Float64s, Row
from .protocol import BenchmarkResult, Outcome
from .scores import ALL, MEAN, mean_defined

COLUMNS = ("dataset", "strategy", "center", "metric", "seed", "round", "value", "megabytes", "trials")


def tidy_rows(result: BenchmarkResult) -> list[Row]:
    """A row for every strategy, seed and center, and for the mean and all test rows together."""
    return [row for one in result.outcomes for row in _rows(result, one)]


def tidy_csv(result: BenchmarkResult) -> str:
    """The tidy table as a file's text; what is not defined is empty."""
    rows = [
        {**row, "value": "" if math.isnan(row["value"]) else f"{row['value']:.6g}"}
        for row in tidy_rows(result)
    ]
    return csv_text(COLUMNS, [[row.get(name, "") for name in COLUMNS] for row in rows])


def mean_rows(result: BenchmarkResult) -> list[Row]:
    """A row for each strategy: every center, their mean with its interval, all rows together, the cost."""
    return [_mean_row(result, name) for name in result.strategies]


def cross_rows(result: BenchmarkResult) -> list[Row]:
    """The models that centers trained alone (rows) at every center (columns), over seeds; empty without
    local training."""
    tables = [one.scores.elsewhere for one in result.outcomes if one.scores.elsewhere is not None]
    if not tables:
        return []
    stack = np.array(tables)
    return [
        {
            "trained at": name,
            **{other: mean_defined(stack[:, i, j]) for j, other in enumerate(result.centers)},
        }
        for i, name in enumerate(result.centers)
    ]


def cross_csv(result: BenchmarkResult) -> str:
    """The models that centers trained alone at every center, as a file's text."""
    rows = cross_rows(result)
    if not rows:
        return ""
    return csv_text(rows[0], [list(row.values()) for row in rows])


def to_latex(result: BenchmarkResult) -> str:
    """The table of strategies for a paper, with booktabs rules; the best mean is bold."""
    head = ["Strategy", *result.centers, "Mean"]
    means = {name: mean_defined(_over_seeds(result, name, "mean")) for name in result.strategies}
    best = max((value for value in means.values() if not math.isnan(value)), default=math.nan)
    rows = [_latex_row(result, name, means[name] == best) for name in result.strategies]
    return latex_table(head, rows)


def _rows(result: BenchmarkResult, one: Outcome) -> Iterator[Row]:
    numbers = dict(zip(result.centers, one.scores.centers.tolist(), strict=True))
    shared = {"metric": result.benchmark.metric, "seed": one.seed, "round": one.rounds}
    cost = {"megabytes": one.bytes_sent / 1e6, "trials": one.trials}
    for center, value in {**numbers, MEAN: one.scores.mean, ALL: one.scores.together}.items():
        row = {"dataset": result.benchmark.name, "strategy": one.strategy, "center": center}
        yield {**row, **shared, "value": value, **cost}


def _mean_row(result: BenchmarkResult, strategy: str) -> Row:
    found = result.of(strategy)
    centers = np.array([one.scores.centers for one in found])
    means = _over_seeds(result, strategy, "mean")
    mean, half = mean_interval(means[np.isfinite(means)])
    return {
        "strategy": strategy,
        **{name: mean_defined(centers[:, k]) for k, name in enumerate(result.centers)},
        "mean": mean,
        "±": half,
        "all rows": mean_defined(_over_seeds(result, strategy, "together")),
        "rounds": found[0].rounds,
        "megabytes": float(np.mean([one.bytes_sent for one in found])) / 1e6,
    }


def _over_seeds(result: BenchmarkResult, strategy: str, field: str) -> Float64s:
    return np.array([getattr(one.scores, field) for one in result.of(strategy)])


def _latex_row(result: BenchmarkResult, name: str, best: bool) -> list[str]:
    row = _mean_row(result, name)
    cells = [_number(row[center]) for center in result.centers]
    mean = _number(row["mean"])
    mean = rf"\textbf{{{mean}}}" if best else mean
    spread = "" if math.isnan(row["±"]) else rf" $\pm$ {row['±']:.3f}"
    return [escape_latex(name), *cells, mean + spread]


def _number(value: float) -> str:
    return "--" if math.isnan(value) else f"{value:.3f}"
