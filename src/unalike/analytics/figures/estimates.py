"""Forest plots of estimates, and residual plots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ...core.figure_style import FAINT, INK, PALETTE, figure, with_figure_style
from ...typing import Float64s

_TALLEST = 9.0


@with_figure_style
def forest(
    estimates: ArrayLike,
    intervals: ArrayLike,
    names: Sequence[str],
    title: str = "",
    common: float | None = None,
) -> Figure:
    """Estimates with intervals, the first at the bottom: of clients, of terms, of methods. Zero is marked,
    and a value that all have in `common`."""
    middles, ends = np.asarray(estimates, float), np.asarray(intervals, float)
    height = min(1.2 + 0.22 * len(middles), _TALLEST)
    picture = figure(6.4, height)
    axes = picture.subplots()
    rows = np.arange(len(middles))
    axes.hlines(rows, ends[:, 0], ends[:, 1], color=PALETTE[0], linewidth=1.2)
    axes.scatter(middles, rows, s=14, color=PALETTE[0], zorder=3)
    axes.axvline(0.0, color=FAINT, linewidth=1.2, zorder=0.5)
    if common is not None:
        axes.axvline(common, color=INK, linewidth=0.8)
    axes.set_ylim(-0.6, len(middles) - 0.4)
    _name_rows(axes, names, height)
    axes.set_title(title)
    return picture


def coefficients(terms: Sequence[str], estimates: Float64s, intervals: Float64s) -> Figure:
    """The coefficients that exist, with their intervals, the first at the top."""
    known = np.flatnonzero(np.isfinite(estimates))[::-1]
    names = [terms[j] for j in known.tolist()]
    return forest(estimates[known], intervals[known], names, "Coefficients with their intervals")


def effects_of_clients(term: str, clients: Sequence[str], effects: Float64s, spreads: Float64s) -> Figure:
    """How far clients are from a shared coefficient, in order, with two standard deviations."""
    order = np.argsort(effects)
    middle, reach = effects[order], 2 * spreads[order]
    ends = np.column_stack([middle - reach, middle + reach])
    names = [clients[int(k)] for k in order]
    return forest(middle, ends, names, f"{term}: clients against what all share")


@with_figure_style
def residual_plot(fitted: Float64s, residuals: Float64s, most: int = 2_000) -> Figure:
    """Residuals against fitted values, and their spread; a pattern says that the model is wrong."""
    chosen = np.linspace(0, len(fitted) - 1, min(most, len(fitted))).astype(int)
    picture = figure(7.6, 3.0)
    left, right = picture.subplots(1, 2, width_ratios=(2, 1))
    left.scatter(fitted[chosen], residuals[chosen], s=6, alpha=0.5, color=PALETTE[0])
    left.axhline(0, color=FAINT, linewidth=1.2)
    left.set_xlabel("fitted")
    left.set_title("Residuals against fitted values")
    right.hist(residuals, bins=40, color=PALETTE[0])
    right.set_title("Residuals")
    return picture


def _name_rows(axes: Axes, names: Sequence[str], height: float) -> None:
    """Names beside the rows, of as many as can be read."""
    step = max(1, int(np.ceil(0.17 * len(names) / height)))
    axes.set_yticks(range(0, len(names), step), list(names[::step]))
