"""Confusion matrix and other metrics that are tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ..core.figure_style import INK, PAPER, figure, with_figure_style
from ..models.metrics import mean_of_all
from ..training.run import Run
from .mixture_plots import SHADES

_MOST_WRITTEN, _MOST_NAMED = 16, 40
"""Classes up to which counts are written into cells, and names beside the axes."""


def metric_figures(run: Run) -> dict[str, Figure]:
    """Tables among a run's metrics, of all clients' test rows together; those of real clients, who may have
    left, are not asked for."""
    federation, setting = run.setting.federation, run.setting
    tables = [metric for metric in setting.task.metrics.values() if metric.table]
    real = run.folder is not None and run.folder.config.get("engine") == "flower"
    if not tables or real or not len(federation.test.y):
        return {}
    found = run.evaluate("test")
    samples, names = found["samples"], federation.label_names
    counts = {
        metric.label.capitalize(): metric.finish(mean_of_all(found[metric.statistic], samples)[None])[0]
        for metric in tables
    }
    return {name: confusion_heatmap(table * samples.sum(), names) for name, table in counts.items()}


@with_figure_style
def confusion_heatmap(counts: ArrayLike, names: Sequence[str] | None = None) -> Figure:
    """Labels from top to bottom, predictions from left to right; shades are shares of a label's rows, and
    numbers, where they fit, count rows."""
    table = np.rint(np.asarray(counts, np.float64))
    classes = len(table)
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    side = float(np.clip(0.42 * classes + 1.6, 3.2, 8.0))
    picture = figure(side + 0.6, side)
    axes = picture.subplots()
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.imshow(shares, cmap=SHADES, vmin=0, vmax=1, interpolation="nearest")
    if classes <= _MOST_WRITTEN:
        for (label, said), count in np.ndenumerate(table):
            ink = PAPER if shares[label, said] > 0.6 else INK
            axes.text(
                said,
                label,
                f"{int(count):,}" if count else "",
                ha="center",
                va="center",
                color=ink,
                fontsize=7,
            )
    words = [str(i) for i in range(classes)] if names is None or len(names) != classes else list(names)
    if classes <= _MOST_NAMED:
        axes.set_xticks(range(classes), words, rotation=90 if max(map(len, words)) > 3 else 0)
        axes.set_yticks(range(classes), words)
    axes.set_title(f"{int(table.sum()):,} test rows")
    axes.set_xlabel("predicted")
    axes.set_ylabel("label")
    return picture
