"""Figure of the homogeneity sweep over class and size imbalance."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ..core.figure_style import MUTED, color, figure, label_ends, with_figure_style
from ..data.similarity import Similarity
from ..data.similarity.sweep import HomogeneitySweep


@with_figure_style
def sweep_figure(sweep: HomogeneitySweep, found: Similarity | None = None) -> Figure:
    """A line for every data imbalance with its range over seeds, and where the given clients are."""
    picture = figure(8.4, 3.6)
    axes = picture.subplots()
    at = np.arange(len(sweep.class_imbalances))
    heights, texts, inks = [], [], []
    for index, imbalance in enumerate(sweep.data_imbalances):
        values, ink = sweep.values[index], color(index)
        axes.fill_between(at, values.min(axis=1), values.max(axis=1), color=ink, alpha=0.2, linewidth=0)
        axes.plot(at, values.mean(axis=1), color=ink, marker="o", markersize=3)
        heights.append(float(values[-1].mean()))
        texts.append(f"data imbalance {imbalance:g}")
        inks.append(ink)
    if found is not None:
        for name, level in (("these clients", found.homogeneity), ("rows shuffled", found.reference)):
            if np.isfinite(level):
                axes.axhline(level, color=MUTED, linewidth=1.0, linestyle=(0, (4, 2)))
                heights.append(level)
                texts.append(name)
                inks.append(MUTED)
    axes.set_xticks(at, [f"{knob:g}" for knob in sweep.class_imbalances])
    axes.set_xlabel("class imbalance")
    axes.set_title(f"Homogeneity of {sweep.clients:,} clients")
    label_ends(axes, heights, texts, inks)
    return picture
