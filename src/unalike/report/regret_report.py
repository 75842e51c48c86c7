"""Regret of a run on its page: how it grows with the steps, beside sqrt(T) and T."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from ..core.figure_style import MUTED, color, figure, label_ends, with_figure_style
from ..theory.mixtures.regret import regret_slope
from ..typing import Array, Float64s
from .plots import line, rounds_axis
from .text_format import number_text, title

Columns = Mapping[str, Array]
PREFIX = "regret_"
CAPTION = (
    "Regret of predictions of arriving rows against a rival that never changes: what it would have saved so "
    "far. Gray: the growth of the square root of T, and of T, from a quarter of the run on."
)


def regret_figures(metrics: Columns) -> dict[str, Figure]:
    """The figure of regrets, where the record has some."""
    names = [name for name in metrics if name.startswith(PREFIX)]
    names.sort(key=lambda name: name == f"{PREFIX}loss")  # an accuracy first, as published
    return {"Regret": regret_curves(metrics, names[:2])} if names else {}


@with_figure_style
def regret_curves(metrics: Columns, names: list[str]) -> Figure:
    """One part for each quantity."""
    drawn = figure(7.6 if len(names) == 1 else 8.4, 3.2)
    for axes, name in zip(np.atleast_1d(drawn.subplots(1, len(names))), names, strict=True):
        rounds, values = _measured(metrics, name)
        first = max(len(values) // 4, 1) - 1
        if values[first] > 0 and first + 1 < len(values):
            for power in (0.5, 1.0):
                steps = np.arange(first, len(values))
                grown = values[first] * ((steps + 1) / (first + 1)) ** power
                line(axes, rounds[first:], grown, color=MUTED, linewidth=0.8)
        line(axes, rounds, values, color=color(0))
        axes.set_title(f"Regret of {title(name.removeprefix(PREFIX)).lower()}{_growth(values)}")
        rounds_axis(axes)
        label_ends(axes, [float(values[-1])], [f"{values[-1]:.3g}"], [color(0)])
    return drawn


def regret_cards(metrics: Columns) -> dict[str, str | float]:
    """The regret at the end, and how it grew.

    >>> regret_cards({"round": np.arange(8), "regret_loss": np.sqrt(np.arange(1, 9.0))})
    {'Regret of loss': '2.83, like T^0.50'}
    """
    found: dict[str, str | float] = {}
    for name in (name for name in metrics if name.startswith(PREFIX)):
        _, values = _measured(metrics, name)
        text = number_text(float(f"{values[-1]:.3g}"))
        found[f"Regret of {name.removeprefix(PREFIX)}"] = text + _growth(values)
    return found


def _growth(values: Float64s) -> str:
    """The exponent of T over the last three quarters, where the regret is positive."""
    slope = regret_slope(values)
    return f", like T^{slope:.2f}" if np.isfinite(slope) else ""


def _measured(metrics: Columns, name: str) -> tuple[Float64s, Float64s]:
    known = np.isfinite(metrics[name])
    return metrics["round"][known].astype(np.float64), metrics[name][known]
