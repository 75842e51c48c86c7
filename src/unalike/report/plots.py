"""Figures of one run: learning curves, clients, traffic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import ArrayLike

from ..core.figure_style import FAINT, INK, MUTED, PALETTE, color, figure, label_ends, with_figure_style
from ..errors import ConfigError
from ..models.metrics import is_share
from ..runs.atomic import write_bytes
from ..runs.statistics import higher_is_better, summarize_clients
from ..typing import Array, Float64s
from .text_format import bytes_text, split_and_quantity, title, value

Metrics = Mapping[str, Array]
_PANELS = 3
"""Quantities beside each other; more go below."""
_SPLIT_COLORS = {"test": PALETTE[0], "train": MUTED, "validation": PALETTE[2], "": PALETTE[0]}


@with_figure_style
def curves(metrics: Metrics, names: Sequence[str]) -> Figure:
    """One panel per quantity against rounds, with a line each for train and test."""
    panels: dict[str, list[str]] = {}
    for name in (name for name in names if name in metrics):
        panels.setdefault(split_and_quantity(name)[1], []).append(name)
    beside = min(max(len(panels), 1), _PANELS)
    rows = max(-(-len(panels) // beside), 1)
    picture = figure(4.2 * beside, 2.9 * rows)
    grid = picture.subplots(rows, beside, squeeze=False).ravel()
    for axes, (quantity, lines) in zip(grid, panels.items(), strict=False):
        _curve_panel(axes, metrics, quantity, lines)
    for axes in grid[max(len(panels), 1) :]:
        axes.set_visible(False)
    return picture


@with_figure_style
def client_distribution(values: ArrayLike, weights: ArrayLike | None, label: str) -> Figure:
    """Every client, worst first, their histogram beside, and the mean, bottom decile and worst marked."""
    sample = np.asarray(values, dtype=float)
    better = higher_is_better(label)
    summary = summarize_clients(sample, weights, better)
    ordered = np.sort(_drop_missing(sample, weights))
    picture = figure(8.4, 3.1)
    left, right = picture.subplots(1, 2, sharey=True, width_ratios=[3, 1.2])
    _plot_sorted_clients(left, ordered if better else ordered[::-1], label)
    _histogram(right, ordered)
    _mark(left, right, summary, label)
    return picture


@with_figure_style
def traffic(metrics: Metrics) -> Figure:
    """Bytes sent so far, to the clients and from them; and, where recorded, how many clients took part."""
    counted = [name for name in ("participants", "rejected") if name in metrics]
    picture = figure(8.4, 2.9)
    panels = picture.subplots(1, 2 if counted else 1, squeeze=False)[0]
    _bytes_panel(panels[0], metrics)
    if counted:
        _participation_panel(panels[1], metrics, counted)
    return picture


def fix_layout(figures: Iterable[Figure]) -> None:
    """Lay out figures once for all files that show them: a layout takes as long as a drawing."""
    for drawn in figures:
        drawn.draw_without_rendering()
        with mpl.rc_context({"figure.constrained_layout.use": False, "figure.autolayout": False}):
            drawn.set_layout_engine(None)  # "none" would leave an engine that Matplotlib asks every time


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure as a PNG or a PDF, as the path ends, whole or not at all."""
    buffer, kind = BytesIO(), Path(path).suffix[1:]
    if kind not in figure.canvas.get_supported_filetypes():
        raise ConfigError(f"a picture is written as .png, .pdf or .svg, but not as {str(path)!r}.")
    undated = {"CreationDate": None} if kind == "pdf" else None
    figure.savefig(buffer, format=kind, dpi=160, metadata=undated)
    write_bytes(Path(path), buffer.getvalue())
    return Path(path)


def line(axes: Axes, x: ArrayLike, y: ArrayLike, **style: Any) -> None:
    """A line through the points that were measured; a lone point, which a line would hide, gets a dot."""
    xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    seen = np.isfinite(ys)
    axes.plot(xs[seen], ys[seen], marker="o" if seen.sum() == 1 else None, markersize=5, **style)


def last(values: ArrayLike) -> float:
    """The last value that was measured, or NaN.

    >>> last([1.0, 2.0, float("nan")])
    2.0
    """
    column = np.asarray(values, dtype=float)
    seen = column[np.isfinite(column)]
    return float(seen[-1]) if seen.size else np.nan


def rounds_axis(axes: Axes) -> None:
    """Rounds are whole numbers."""
    axes.set_xlabel("round")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))


def scale(axes: Axes, metric: str) -> None:
    """Percentages for shares, such as accuracies."""
    if is_share(metric):
        axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))


def _curve_panel(axes: Axes, metrics: Metrics, quantity: str, names: Sequence[str]) -> None:
    for name in names:
        ink = _SPLIT_COLORS[split_and_quantity(name)[0]]
        line(axes, metrics["round"], metrics[name], color=ink, linewidth=1.2 if ink == MUTED else 1.8)
    axes.set_title(title(quantity))
    scale(axes, quantity)
    rounds_axis(axes)
    ends = [last(metrics[name]) for name in names]
    texts = [
        f"{split_and_quantity(n)[0]} {value(n, end)}".strip() for n, end in zip(names, ends, strict=True)
    ]
    label_ends(axes, ends, texts, [_SPLIT_COLORS[split_and_quantity(name)[0]] for name in names])


def _bytes_panel(axes: Axes, metrics: Metrics) -> None:
    lines = [("bytes_down", "to clients", PALETTE[0]), ("bytes_up", "from clients", PALETTE[1])]
    totals = [(np.nancumsum(metrics[name]), words, ink) for name, words, ink in lines if name in metrics]
    for total, _, ink in totals:
        line(axes, metrics["round"], total, color=ink)
    axes.set_title("Bytes sent so far")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda count, _: bytes_text(count)))
    rounds_axis(axes)
    texts = [f"{words}\n{bytes_text(last(total))}" for total, words, _ in totals]
    label_ends(axes, [last(total) for total, _, _ in totals], texts, [ink for _, _, ink in totals], gap=0.16)


def _participation_panel(axes: Axes, metrics: Metrics, names: Sequence[str]) -> None:
    inks = {"participants": PALETTE[0], "rejected": PALETTE[1]}
    for name in names:
        line(axes, metrics["round"], metrics[name], color=inks[name], linewidth=1.2)
    axes.set_title("Clients per round")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    rounds_axis(axes)
    label_ends(axes, [last(metrics[name]) for name in names], names, [inks[name] for name in names])


def _drop_missing(sample: Float64s, weights: ArrayLike | None) -> Float64s:
    counted = np.isfinite(sample)
    return sample[counted if weights is None else counted & (np.asarray(weights, dtype=float) > 0)]


def _plot_sorted_clients(axes: Axes, ordered: Float64s, label: str) -> None:
    if ordered.size <= 60:
        axes.plot(np.arange(1, ordered.size + 1), ordered, "o", color=color(0), markersize=4)
    else:
        axes.plot(np.arange(1, ordered.size + 1), ordered, color=color(0))
    axes.set_title(f"{title(label)} of each client")
    axes.set_xlabel(f"{ordered.size:,} clients, worst first")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    scale(axes, label)


def _histogram(axes: Axes, ordered: Float64s) -> None:
    if ordered.size:
        bins = int(np.clip(np.sqrt(ordered.size), 5, 30))
        axes.hist(ordered, bins=bins, orientation="horizontal", color=color(0), alpha=0.75, rwidth=0.88)
    axes.set_xlabel("clients")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=3))
    axes.tick_params(labelleft=False)


def _mark(left: Axes, right: Axes, summary: Mapping[str, float], label: str) -> None:
    marks = [("mean", INK), ("bottom_decile", PALETTE[4]), ("worst", PALETTE[1])]
    shown = [(name, ink) for name, ink in marks if np.isfinite(summary[name])]
    for axes in (left, right):
        for name, ink in shown:
            axes.axhline(summary[name], color=ink, linewidth=1, linestyle=(0, (4, 3)), zorder=0.9)
    texts = [f"{name.replace('_', ' ')} {value(label, summary[name])}" for name, _ in shown]
    label_ends(right, [summary[name] for name, _ in shown], texts, [ink for _, ink in shown])
    right.grid(visible=True, axis="y", color=FAINT)
