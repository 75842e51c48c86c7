"""Figures of a comparison of methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from numpy.typing import ArrayLike

from ..core.figure_style import color, dash, figure, label_ends, with_figure_style
from ..models.metrics import is_share
from ..runs.statistics import bottom_decile, higher_is_better, mean_interval
from ..typing import Array, Float64s, Int64s
from .job_plots import TIME
from .plots import last, line, rounds_axis, scale
from .text_format import title, value
from .timing_plots import clock

_CONTEXT, _LEAST = 2.5, 0.04
"""How much of the way to the ends is shown, by their distance, and the least distance, as a part of them."""
Runs = Mapping[str, Sequence[Mapping[str, Array]]]


@with_figure_style
def comparison_curves(runs: Runs, metric: str) -> Figure:
    """The mean over seeds of a metric against rounds, one line per method, with its 95 % interval as a band.

    `runs` maps a method to the recorded columns (`Record.metrics()`) of each of its seeds.
    """
    picture = figure(7.6, 3.6)
    axes = picture.subplots()
    means = {
        name: _draw_method(axes, seeds, metric, index) for index, (name, seeds) in enumerate(runs.items())
    }
    axes.set_title(title(metric))
    scale(axes, metric)
    rounds_axis(axes)
    look_closer(axes, list(means.values()))
    _label_lines(axes, means, metric)
    return picture


@with_figure_style
def comparison_in_time(runs: Runs, metric: str) -> Figure:
    """The mean over seeds of a metric against simulated time, one line per method."""
    picture = figure(7.6, 3.6)
    axes = picture.subplots()
    lines = {name: _in_time(seeds, metric) for name, seeds in runs.items()}
    for index, (times, values) in enumerate(lines.values()):
        line(axes, times, values, color=color(index), linestyle=dash(index))
    axes.set_title(title(metric))
    axes.set_xlabel(TIME)
    scale(axes, metric)
    means = {name: values for name, (_, values) in lines.items()}
    look_closer(axes, list(means.values()))
    _label_lines(axes, means, metric)
    return picture


def _in_time(seeds: Sequence[Mapping[str, Array]], metric: str) -> tuple[Float64s, Float64s]:
    """Times at which some seed was evaluated and all were still trained, and the mean over seeds of what was
    last measured until then."""
    measured = [np.isfinite(seed.get(metric, np.full(len(seed["round"]), np.nan))) for seed in seeds]
    clocks = [clock(seed)[seen] for seed, seen in zip(seeds, measured, strict=True)]
    if not all(len(times) for times in clocks):
        return np.zeros(0), np.zeros(0)
    times = np.unique(np.concatenate(clocks))
    first, end = (choose(one[at] for one in clocks) for choose, at in ((max, 0), (min, -1)))
    times = times[(times >= first) & (times <= end)]
    columns = [
        seed[metric][seen][np.searchsorted(own, times, side="right") - 1]
        for seed, seen, own in zip(seeds, measured, clocks, strict=True)
    ]
    return times, np.mean(columns, axis=0)


def look_closer(axes: Axes, lines: Sequence[Float64s]) -> None:
    """Let the ends of lines, where methods differ, have a good part of the height: what lies far from all of
    them is left out, on the side where training began."""
    ends = np.array([last(values) for values in lines])
    ends = ends[np.isfinite(ends)]
    starts = np.array([values[np.isfinite(values)][0] for values in lines if np.isfinite(values).any()])
    if not ends.size:
        return
    reach = _CONTEXT * max(float(np.ptp(ends)), _LEAST * float(np.abs(ends).max()))
    low, high = axes.get_ylim()
    if starts.mean() < ends.min():
        axes.set_ylim(bottom=max(low, float(ends.min()) - reach))
    elif starts.mean() > ends.max():
        axes.set_ylim(top=min(high, float(ends.max()) + reach))


@with_figure_style
def comparison_clients(clients: Mapping[str, ArrayLike], label: str = "test_accuracy") -> Figure:
    """Each method's clients, worst first, against the share of clients: who is left behind by whom."""
    picture = figure(7.6, 3.6)
    axes = picture.subplots()
    better = higher_is_better(label)
    deciles = {}
    for index, (name, values) in enumerate(clients.items()):
        ordered = np.sort(np.asarray(values, dtype=float))
        ordered = ordered[np.isfinite(ordered)] if better else ordered[np.isfinite(ordered)][::-1]
        share = (np.arange(ordered.size) + 0.5) / max(ordered.size, 1)
        line(axes, share, ordered, color=color(index), linestyle=dash(index))
        deciles[name] = bottom_decile(ordered, better)
    axes.axvline(0.1, color=color(4), linewidth=1, linestyle=(0, (4, 3)), zorder=0.9)
    axes.set_title(f"{title(label)} of each client")
    axes.set_xlabel("share of clients, worst first; the dashed line is the bottom decile")
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    scale(axes, label)
    # Beside the axes in the order of the deciles: the lines themselves often end together, at the best.
    _write_ends(axes, {f"{name}, decile {value(label, low)}": low for name, low in deciles.items()})
    return picture


def _draw_method(axes: Axes, seeds: Sequence[Mapping[str, Array]], metric: str, index: int) -> Float64s:
    rounds, table = align_seeds(seeds, metric)
    seen = np.isfinite(table).any(axis=0)
    rounds, table = rounds[seen], table[:, seen]
    pairs = np.array([mean_interval(column[np.isfinite(column)]) for column in table.T]).reshape(-1, 2)
    line(axes, rounds, pairs[:, 0], color=color(index), linestyle=dash(index))
    if len(seeds) > 1:
        low, high = _band(pairs, metric)
        axes.fill_between(rounds, low, high, color=color(index), alpha=0.15, linewidth=0)
    return pairs[:, 0]


def _band(pairs: Float64s, metric: str) -> tuple[Float64s, Float64s]:
    """The ends of intervals (mean, half width); those of a share, such as an accuracy, within 0 and 1."""
    ends = pairs[:, 0] - pairs[:, 1], pairs[:, 0] + pairs[:, 1]
    return (np.clip(ends[0], 0, 1), np.clip(ends[1], 0, 1)) if is_share(metric) else ends


def align_seeds(seeds: Sequence[Mapping[str, Array]], metric: str) -> tuple[Int64s, Float64s]:
    """All rounds that any seed has, and one row per seed with NaN where it has none."""
    rounds = np.unique(np.concatenate([seed["round"] for seed in seeds]))
    table = np.full((len(seeds), rounds.size), np.nan)
    for row, seed in zip(table, seeds, strict=True):
        if metric in seed:
            row[np.searchsorted(rounds, seed["round"])] = seed[metric]
    return rounds, table


def _label_lines(axes: Axes, means: Mapping[str, Float64s], metric: str) -> None:
    _write_ends(axes, {f"{name} {value(metric, last(mean))}": last(mean) for name, mean in means.items()})


def _write_ends(axes: Axes, ends: Mapping[str, float]) -> None:
    label_ends(axes, list(ends.values()), list(ends), [color(index) for index in range(len(ends))])
