"""Report of a benchmark on one page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ..core.figure_style import INK, PAPER, color, figure, with_figure_style
from ..experiments.benchmark import BenchmarkResult
from ..experiments.benchmark.table import cross_rows, mean_rows
from ..typing import Row
from .html import write_report
from .text_format import number_text


@with_figure_style
def centers_plot(result: BenchmarkResult) -> Figure:
    """Every strategy at every center, the mean over seeds; a ring is the mean over centers."""
    rows = mean_rows(result)
    picture = figure(7.6, 1.1 + 0.32 * len(rows))
    axes = picture.subplots()
    for k, center in enumerate(result.centers):
        axes.scatter(
            [row[center] for row in rows], range(len(rows)), s=26, color=color(k), label=center, zorder=3
        )
    axes.scatter(
        [row["mean"] for row in rows],
        range(len(rows)),
        s=80,
        facecolors="none",
        edgecolors=INK,
        linewidths=1.3,
        zorder=4,
        label="mean",
    )
    axes.set_yticks(range(len(rows)), [row["strategy"] for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="x")
    axes.set_title(f"{result.benchmark.metric.replace('_', ' ')} on test patients")
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return picture


@with_figure_style
def cross_plot(result: BenchmarkResult) -> Figure:
    """Models trained at one center (rows), tested at every center (columns)."""
    rows, centers = cross_rows(result), result.centers
    table = np.array([[row[name] for name in centers] for row in rows], float)
    picture = figure(1.9 + 0.9 * len(centers), 1.2 + 0.5 * len(centers))
    axes = picture.subplots()
    axes.imshow(table, cmap="Blues", aspect="auto")
    middle = float(np.nanmean([np.nanmin(table), np.nanmax(table)]))
    for (i, j), value in np.ndenumerate(table):
        ink = PAPER if value > middle else INK
        axes.text(j, i, "–" if np.isnan(value) else f"{value:.2f}", ha="center", va="center", color=ink)
    axes.set_xticks(range(len(centers)), centers, rotation=20, ha="right")
    axes.set_yticks(range(len(centers)), centers)
    axes.grid(visible=False)
    axes.set_title("Trained alone at (row), tested at (column)")
    return picture


def report_benchmark(path: str | Path, result: BenchmarkResult) -> Path:
    """Write the page of a benchmark."""
    seeds = len(result.of(result.strategies[0]))
    figures = {"Centers": centers_plot(result)}
    if cross_rows(result):
        figures["Transfer"] = cross_plot(result)
    benchmark = result.benchmark
    return write_report(
        path,
        title=f"Benchmark {benchmark.name}",
        subtitle=f"{sum(result.sizes):,} patients of {len(result.centers)} centers, by {benchmark.metric}",
        summary=_headline(result),
        figures=figures,
        captions={
            "Centers": f"Means over {seeds} seed{'s' if seeds > 1 else ''}, each with its own cut.",
            "Transfer": "What a center's own model is worth elsewhere; the diagonal is local training.",
        },
        source=f"Data: {benchmark.license}" if benchmark.license else "",
        notes={"Results": " ".join(["±: 95 % t interval of the mean over seeds.", *result.notes])},
        config=vars(benchmark),
        events=[],
        tables={"Results": _readable(mean_rows(result)), "Chosen settings": _settings(result)},
    )


def _headline(result: BenchmarkResult) -> dict[str, str | float]:
    rows = mean_rows(result)
    known = [row for row in rows if np.isfinite(row["mean"])]
    best = max(known, key=lambda row: row["mean"])["strategy"] if known else "none"
    return {"Best mean": best, **{row["strategy"]: number_text(row["mean"]) for row in rows[:6]}}


def _readable(rows: list[Row]) -> list[Row]:
    def words(value: object) -> object:
        return f"{value:.3f}" if isinstance(value, float) else value

    return [{name: words(value) for name, value in row.items()} for row in rows]


def _settings(result: BenchmarkResult) -> list[Row]:
    return [
        {
            "strategy": one.strategy,
            "seed": one.seed,
            "trials": one.trials,
            "settings": ", ".join(f"{name} {value:.4g}" for name, value in one.settings.items()),
        }
        for one in result.outcomes
    ]
