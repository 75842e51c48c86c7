"""Weights of a stream on a run's page: q(t) of its rounds, p_m of its clients, N_eff of its rows.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023); what is shown stands in the
record (:mod:`unalike.training.stream_weights`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from ..core.figure_style import color, figure, with_figure_style
from ..typing import Array
from .plots import last, line, rounds_axis
from .text_format import number_text

Columns = Mapping[str, Array]
FIGURE = "Stream weights"


def stream_weight_figures(metrics: Columns, clients: Columns) -> dict[str, Figure]:
    """The figure of weights, where a run with a stream is over."""
    if "round_weight" not in metrics or "stream_weight" not in clients:
        return {}
    return {FIGURE: stream_weights(metrics, clients)}


@with_figure_style
def stream_weights(metrics: Columns, clients: Columns) -> Figure:
    """q(t) by rounds; and p_m by clients, beside their shares of rows, with which all rows count the same."""
    drawn = figure(8.4, 2.9)
    left, right = drawn.subplots(1, 2)
    line(left, metrics["round"], metrics["round_weight"], color=color(0))
    left.set_title("Weight of each round, q(t)")
    left.set_ylim(bottom=0)
    rounds_axis(left)
    rows = clients["stream_rows"] / max(float(clients["stream_rows"].sum()), 1.0)
    numbers = np.arange(len(rows))
    right.plot(numbers, rows, "_", color=color(1), markersize=9, label="share of rows")
    right.plot(numbers, clients["stream_weight"], "o", color=color(0), markersize=3.5, label="weight")
    right.set_title("Weight of each client, p_m")
    right.set_ylim(bottom=0)
    right.set_xlabel("client")
    right.legend(frameon=False)
    return drawn


def stream_weight_cards(metrics: Columns) -> dict[str, str | float]:
    """How many equally weighted rows a run is worth, where its record says so.

    >>> of_run = {"run_effective_samples": np.array([50.0]), "run_effective_fraction": np.array([0.5])}
    >>> stream_weight_cards(of_run)
    {'Effective rows': '50 (50.0 % of 100 that arrived)'}
    """
    if "run_effective_samples" not in metrics:
        return {}
    effective, fraction = (last(metrics[f"run_effective_{name}"]) for name in ("samples", "fraction"))
    rows = number_text(round(effective / fraction)) if fraction > 0 else "none"
    part = f"{100 * fraction:.1f} % of {rows} that arrived"
    return {"Effective rows": f"{number_text(round(effective, 1))} ({part})"}
