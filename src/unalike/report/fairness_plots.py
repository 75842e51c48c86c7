"""Fairness frontier: mean against spread of accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ..core.figure_style import color, figure, with_figure_style
from ..runs.fairness import frontier

Points = Mapping[str, Sequence[tuple[float, float]]]
"""By method: (spread, mean) of every setting that was tried, the chosen one first."""


@with_figure_style
def frontier_plot(points: Points, higher: bool = True) -> Figure:
    """The mean over clients against its spread, a point for every setting; the first of a method is filled,
    and a line joins what nothing else beats in both, where that is more than one."""
    picture = figure(7.6, 3.6)
    axes = picture.subplots()
    for index, (name, found) in enumerate(points.items()):
        spread, mean = np.array(found, float).T
        axes.scatter(spread, mean, s=22, facecolors="none", edgecolors=color(index), linewidths=1.2)
        axes.scatter(spread[:1], mean[:1], s=44, color=color(index), label=name)
    every = np.array([point for found in points.values() for point in found], float)
    best = frontier(every[:, 1], every[:, 0], higher)
    if len(best) > 1:
        axes.plot(every[best, 0], every[best, 1], color="0.6", linewidth=1, zorder=0.9)
    if not higher:
        axes.invert_yaxis()
    axes.set_xlabel("spread (standard deviation over clients)")
    axes.set_title("Mean over clients against its spread; up and to the left is better")
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return picture
