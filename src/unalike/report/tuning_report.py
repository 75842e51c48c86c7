"""Report of a hyper-parameter search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ..core.figure_style import color, figure, with_figure_style
from ..experiments.tuning_study import Trial
from ..runs.comparison import Comparison
from ..runs.statistics import higher_is_better
from ..typing import Config, Float64s
from .comparison_plots import Runs
from .comparison_report import comparison_page
from .fairness_plots import frontier_plot
from .plots import scale

Trials = Mapping[str, Sequence[Trial]]


@with_figure_style
def tuning_plot(trials: Trials, metric: str) -> Figure:
    """Every trial's score on validation rows against its learning rate; a method's best is filled."""
    picture = figure(7.6, 3.6)
    axes = picture.subplots()
    for index, (name, found) in enumerate(trials.items()):
        rates = np.array([trial.settings["learning_rate"] for trial in found])
        scores = _readable(np.array([trial.score for trial in found]), metric)
        axes.scatter(rates, scores, s=22, facecolors="none", edgecolors=color(index), linewidths=1.2)
        axes.scatter(rates[:1], scores[:1], s=44, color=color(index), label=name)
    axes.set_xscale("log")
    axes.set_xlabel("learning rate")
    axes.set_title("Trials on validation rows; filled: the best of a method")
    scale(axes, metric)
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return picture


def _readable(scores: Float64s, metric: str) -> Float64s:
    """Scores without those of trials that went astray, which would flatten all others."""
    if higher_is_better(metric):
        return scores
    return np.where(scores <= 10 * np.nanmin(scores, initial=np.inf), scores, np.nan)


def _frontier(trials: Trials, metric: str) -> dict[str, Figure]:
    """Means and spreads of all trials, where spreads were measured."""
    points = {
        name: [(t.spread, t.mean) for t in found if math.isfinite(t.spread)] for name, found in trials.items()
    }
    points = {name: found for name, found in points.items() if found}
    return {"Frontier": frontier_plot(points, higher_is_better(metric))} if points else {}


def report_tuning(
    path: str | Path,
    comparison: Comparison,
    trials: Trials,
    runs: Runs,
    config: Config,
    source: str = "",
) -> Path:
    """Write the page of a comparison with all trials that led to it."""
    rows = [
        {
            "method": t.method,
            "validation": f"{t.score:.4f}",
            "spread": f"{t.spread:.4f}",
            **{k: f"{v:.4g}" for k, v in t.settings.items()},
        }
        for found in trials.values()
        for t in found
        if not math.isnan(t.score)
    ]
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = [{name: row.get(name, "") for name in names} for row in rows]
    return comparison_page(
        path,
        comparison,
        runs,
        config,
        {"Trials": table},
        source,
        {"Trials": tuning_plot(trials, comparison.metric), **_frontier(trials, comparison.metric)},
    )
