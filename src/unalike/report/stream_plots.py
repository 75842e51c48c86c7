"""Figures of a data stream's error bound over the weight of historical data.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023): psi over its least value against
what historical clients count together,

    psi(p) = sqrt(sum_{m fresh} p_m^2) + (c2/c1) sqrt(sum_m p_m^2 / n_m).
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from ..advice.streams import StreamAdvice
from ..core.figure_style import INK, color, figure, with_figure_style
from .plots import line


@with_figure_style
def stream_costs(advice: StreamAdvice) -> Figure:
    """The cost against what historical clients count together, with a point for each strategy."""
    picture = figure(7.6, 3.6)
    axes = picture.subplots()
    line(axes, *advice.curve, color=color(0))
    shown = [report for report in advice.strategies if report.cost is not None and np.isfinite(report.cost)]
    for index, report in enumerate(shown):
        assert report.historical is not None
        assert report.cost is not None
        axes.plot([report.historical], [report.cost], "o", color=color(index + 1), markersize=6, zorder=3)
        above = 9 + 11 * sum(_near(report.historical, other.historical) for other in shown[:index])
        axes.annotate(
            report.name,
            (report.historical, report.cost),
            (0, above),
            textcoords="offset points",
            ha="left" if report.historical < 0.1 else "right" if report.historical > 0.9 else "center",
            color=color(index + 1),
        )
    axes.set_xlim(-0.02, 1.02)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.25 * (high - low))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    axes.set_title("Error bound over the least one", color=INK)
    axes.set_xlabel(f"weight of historical clients, who hold {advice.fraction:.0%} of the rows")
    return picture


def _near(one: float, other: float | None) -> bool:
    return other is not None and bool(np.abs(one - other) < 0.08)
