"""Data stream report: arrivals, memory and drift of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..core.figure_style import MUTED, color, dash, figure, label_ends, with_figure_style
from ..models.metrics import metric_columns
from ..typing import Array, Float64s, Int64s
from .participation_plots import rolling_mean
from .plots import last, line, rounds_axis, scale
from .text_format import number_text, title, value

Columns = Mapping[str, Array]
WINDOW = 5
"""Evaluations over which prequential scores are averaged."""


def stream_figures(metrics: Columns, asked: Sequence[str] = ()) -> dict[str, Figure]:
    """The figures of a stream, where the record has one."""
    figures: dict[str, Figure] = {}
    if _is_measured(metrics, "held"):
        figures["Stream"] = stream_content(metrics)
    scored = [name for name in metric_columns(metrics, "prequential_", asked) if _is_measured(metrics, name)]
    scored += [name for name in ("prequential_loss",) if _is_measured(metrics, name)]
    if scored:
        figures["Prequential"] = prequential_curves(metrics, scored[0])
    return figures


@with_figure_style
def stream_content(metrics: Columns) -> Figure:
    """Rows that arrive and rows that are held, of all clients together, and how many a round is worth."""
    picture = figure(8.4, 2.9)
    left, right = picture.subplots(1, 2)
    _lines(left, metrics, {"arrived": "arrived", "held": "held"})
    left.set_title("Rows of all clients")
    _lines(right, metrics, {"effective_samples": ""})
    right.set_title("Effective samples")
    return picture


@with_figure_style
def prequential_curves(metrics: Columns, name: str) -> Figure:
    """A prequential score, faint, its mean over the last evaluations, the hold-out, and earlier concepts;
    drifts are marked."""
    quantity = name.removeprefix("prequential_")
    lines = {f"test_{quantity}": "hold-out"}
    lines |= {f"concept_{c}_{quantity}": word for c, word in enumerate(("first concept", "changed"))}
    there = {column: word for column, word in lines.items() if _is_measured(metrics, column)}
    picture = figure(7.6, 3.4)
    axes = picture.subplots()
    seen = np.isfinite(metrics[name])
    rounds, mean = metrics["round"][seen], rolling_mean(metrics[name][seen], WINDOW)
    line(axes, rounds, metrics[name][seen], color=color(0), linewidth=0.6, alpha=0.35)
    line(axes, rounds, mean, color=color(0))
    ends, texts = [last(mean)], [f"prequential {value(name, last(mean))}"]
    for index, (column, word) in enumerate(there.items(), start=1):
        line(axes, metrics["round"], metrics[column], color=color(index), linestyle=dash(4 * (index > 1)))
        ends.append(last(metrics[column]))
        texts.append(f"{word} {value(column, ends[-1])}")
    mark_drifts(axes, drift_rounds(metrics))
    mark_detections(axes, metrics)
    axes.set_title(f"{title(quantity)}; prequential: mean of {WINDOW} evaluations")
    scale(axes, quantity)
    rounds_axis(axes)
    label_ends(axes, ends, texts, [color(index) for index in range(len(ends))])
    return picture


def drift_rounds(metrics: Columns) -> Int64s:
    """The rounds in which a drift begins: in which the share of changed rows is another than before, though
    it was steady until then.

    >>> drift_rounds({"round": np.arange(6), "drift": np.array([np.nan, 0, 0, 0.5, 1, 1])}).tolist()
    [2]
    """
    if "drift" not in metrics:
        return np.zeros(0, np.int64)
    known = np.isfinite(metrics["drift"])
    rounds, share = metrics["round"][known], metrics["drift"][known]
    turned = np.diff(share, prepend=share[:1]) != 0
    begins = turned & ~np.concatenate([[False], turned[:-1]])
    return rounds[begins].astype(np.int64) - 1  # a row of the record is written when its round is over


def mark_drifts(axes: Axes, rounds: Int64s) -> None:
    """A line with a word where each drift begins; of many, only the first has the word."""
    for index, number in enumerate(rounds.tolist()):
        axes.axvline(number, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=0.9)
        if index == 0:
            axes.annotate(
                "drift",
                (number, 1.0),
                xycoords=("data", "axes fraction"),
                va="bottom",
                ha="center",
                color=MUTED,
                fontsize=8,
            )


def mark_detections(axes: Axes, metrics: Columns) -> None:
    """A triangle at the bottom where a detector was sure of a drift, with the delay in rounds where it is one
    that was injected; an empty one for a false alarm."""
    if not _is_measured(metrics, "drift_detected"):
        return
    bottom = axes.get_xaxis_transform()
    delays = metrics.get("drift_delay", np.full(len(metrics["round"]), np.nan))
    for index in np.flatnonzero(np.isfinite(metrics["drift_detected"])):
        at, delay = float(metrics["round"][index]), float(delays[index])
        real = np.isfinite(delay)
        face = color(0) if real else "none"
        axes.plot([at], [0.03], "^", color=color(0), markerfacecolor=face, transform=bottom, clip_on=False)
        if real:
            text = f"noticed after {delay:.0f}"
            axes.annotate(text, (at, 0.03), (6, -3), bottom, textcoords="offset points", fontsize=8)


def _lines(axes: Axes, metrics: Columns, names: Mapping[str, str]) -> None:
    there = [name for name in names if _is_measured(metrics, name)]
    for index, name in enumerate(there):
        line(axes, metrics["round"], metrics[name], color=color(index))
    axes.set_ylim(bottom=0)
    mark_drifts(axes, drift_rounds(metrics))
    rounds_axis(axes)
    ends = [last(metrics[name]) for name in there]
    texts = [
        f"{names[name]} {number_text(round(end))}".strip() for name, end in zip(there, ends, strict=True)
    ]
    label_ends(axes, ends, texts, [color(index) for index in range(len(there))])


def _is_measured(metrics: Columns, name: str) -> bool:
    values: Float64s = np.asarray(metrics.get(name, ()), np.float64)
    return bool(np.isfinite(values).any())
