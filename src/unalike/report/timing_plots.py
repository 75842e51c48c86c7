"""Figures of asynchronous training: progress over time, and the objective really minimized."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, PercentFormatter, StrMethodFormatter
from numpy.typing import ArrayLike

from ..core.figure_style import PALETTE, color, dash, figure, label_ends, with_figure_style
from ..typing import ClientIds, Float64s
from .job_plots import TIME
from .plots import Metrics, last, line, rounds_axis, scale
from .text_format import number_text, title, value

_MOST_BINS = 60
_WIDTH = 8.4


@with_figure_style
def against_time(runs: Metrics | Mapping[str, Metrics], names: Sequence[str], axis: str = TIME) -> Figure:
    """Each metric against rounds and, beside it, against time: which of two runs is the better one
    may depend on that.

    `runs` are the columns of one record (`Record.metrics()`), or those of several by name.
    """
    by_name = _by_name(runs)
    measured = [name for name in names if any(name in metrics for metrics in by_name.values())]
    picture = figure(_WIDTH, 2.6 * max(len(measured), 1))
    grid = picture.subplots(max(len(measured), 1), 2, sharex="col", sharey="row", squeeze=False)
    for row, name in zip(grid, measured, strict=False):
        _pair(row[0], row[1], by_name, name)
    rounds_axis(grid[-1][0])
    grid[-1][1].set_xlabel(axis)
    return picture


@with_figure_style
def staleness_histogram(staleness: ArrayLike) -> Figure:
    """How old the models were that results started from: the share of results by age, and their mean."""
    ages = np.asarray(staleness, np.int64)
    picture = figure(_WIDTH, 2.8)
    axes = picture.subplots()
    axes.set_title("How old results are")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    if len(ages):
        width = -(-(int(ages.max()) + 1) // _MOST_BINS)
        shares = np.bincount(ages // width) / len(ages)
        left = width * np.arange(len(shares)) - 0.5
        axes.bar(left + 0.06 * width, shares, 0.88 * width, align="edge", color=color(0), alpha=0.75)
        axes.set_ylim(0, 1.15 * shares.max())
        _mark_mean(axes, ages)
    axes.set_xlabel(f"aggregations since the model was sent; {len(ages):,} results")
    axes.set_xlim(-0.6, max(int(ages.max(initial=0)), 5) + 0.6)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    return picture


@with_figure_style
def target_and_surrogate(
    at: ArrayLike,
    target: ArrayLike,
    surrogate: ArrayLike,
    spreads: tuple[ArrayLike, ArrayLike] | None = None,
    axis: str = TIME,
) -> Figure:
    """The loss that counts clients by importance, beside the one that counts them as their results weighed,
    at some times, or rounds if `axis` says so.

    `spreads`, the standard deviations of clients' losses under both, get a panel of their own.
    """
    picture = figure(_WIDTH, 2.9)
    panels = picture.subplots(1, 1 if spreads is None else 2, squeeze=False)[0]
    _objectives(panels[0], at, target, surrogate)
    panels[0].set_title("Loss")
    if spreads is not None:
        _objectives(panels[1], at, *spreads)
        panels[1].set_title("Standard deviation over clients")
    for axes in panels:
        axes.set_xlabel(axis)
    return picture


def _by_name(runs: Metrics | Mapping[str, Metrics]) -> Mapping[str, Metrics]:
    return {"": cast(Metrics, runs)} if "round" in runs else cast(Mapping[str, Metrics], runs)


def _pair(left: Axes, right: Axes, runs: Mapping[str, Metrics], name: str) -> None:
    for index, metrics in enumerate(runs.values()):
        if name in metrics:
            style = {"color": color(index), "linestyle": dash(index)}
            line(left, metrics["round"], metrics[name], **style)
            line(right, clock(metrics), metrics[name], **style)
    left.set_title(title(name))
    scale(left, name)
    ends = [last(metrics[name]) if name in metrics else np.nan for metrics in runs.values()]
    texts = [f"{run} {value(name, end)}".strip() for run, end in zip(runs, ends, strict=True)]
    label_ends(right, ends, texts, [color(index) for index in range(len(runs))])


def clock(metrics: Metrics) -> Float64s:
    """The simulated time of each round; the start, before anything was aggregated, is at zero.

    >>> clock({"round": np.array([0, 1]), "clock": np.array([np.nan, 0.5])})
    array([0. , 0.5])
    """
    rounds = np.asarray(metrics["round"])
    times = np.asarray(metrics.get("clock", np.full(len(rounds), np.nan)), np.float64)
    return np.where(rounds == 0, 0.0, times)


def _mark_mean(axes: Axes, ages: ClientIds) -> None:
    mean, oldest = float(ages.mean()), int(ages.max())
    right = mean < 0.6 * oldest
    axes.axvline(mean, color=PALETTE[1], linewidth=1.2, linestyle=(0, (4, 3)))
    axes.annotate(
        f"mean {mean:,.{0 if mean >= 1000 else 1}f}, oldest {oldest:,}",
        (mean, 1.0),
        (5 if right else -5, -1),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        color=PALETTE[1],
        ha="left" if right else "right",
        va="top",
    )


def _objectives(axes: Axes, at: ArrayLike, target: ArrayLike, surrogate: ArrayLike) -> None:
    both = _powers(axes, np.array([target, surrogate], np.float64))
    # Where the two are equal, the lower line is seen beside the upper one.
    for height, ink, width in zip(both, (color(0), color(1)), (3.4, 1.4), strict=True):
        line(axes, at, height, color=ink, linewidth=width)
    ends = [last(height) for height in both]
    texts = [f"{word} {number_text(end)}" for word, end in zip(("target", "surrogate"), ends, strict=True)]
    label_ends(axes, [_straight(axes, end) for end in ends], texts, [color(0), color(1)], gap=0.085)


def _powers(axes: Axes, values: Float64s) -> Float64s:
    """Equal factors at equal distances, where values fall to a fraction; what is nearly zero is left out."""
    positive = values[np.isfinite(values) & (values > 0)]
    seen = positive[positive > 1e-5 * np.median(positive)] if positive.size else positive
    if not seen.size or seen.max() < 5 * seen.min():
        return values
    axes.set_yscale("log")
    axes.set_ylim(0.85 * seen.min(), 1.15 * seen.max())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    return np.where(values >= seen.min(), values, np.nan)


def _straight(axes: Axes, height: float) -> float:
    """The height that a linear axis with the same ends has where this one has `height`."""
    low, high = axes.get_ylim()
    if axes.get_yscale() == "linear" or not height > 0:
        return height
    return float(low + (high - low) * np.log(height / low) / np.log(high / low))
