"""Who computed when, from how old a model, and what does a run reach in time rather than in rounds?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator, PercentFormatter
from numpy.typing import ArrayLike, NDArray

from ..errors import ConfigError
from .plots import Metrics, last, line, rounds_axis, scale
from .style import FAINT, INK, MUTED, PALETTE, colour, dash, figure, label_ends, styled
from .words import number_text, title, value

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

TIME = "simulated time"
_MOST_ROWS, _MOST_JOBS, _MOST_IN_A_ROW, _MOST_LINES, _MOST_BINS = 40, 400, 40, 60, 60
_MOST_NUMBERS, _LONG_BAR = 120, 0.03
_WIDTH = 8.4
# Not the colours of the palette, which a dark page exchanges one by one: these must stay in their order.
_AGES = LinearSegmentedColormap.from_list("ages", ["#b5d5ea", "#5ea3d0", "#4666b0", "#5b2c83"])


class Jobs(NamedTuple):
    """Work that came to something: one entry per result that was aggregated."""

    clients: Numbers
    started: Floats
    finished: Floats
    aggregated: Floats
    """When the server took the result, which may have waited for that."""
    versions: Numbers
    """The model that each started from: the one after so many aggregations."""
    staleness: Numbers
    """How many aggregations happened between that model and this result's own."""

    def take(self, chosen: NDArray[Any]) -> Jobs:
        """Some of the jobs, by position or by a mask."""
        return Jobs(*(column[chosen] for column in self))


@styled
def gantt(jobs: Jobs, names: Sequence[str] | None = None) -> Figure:
    """Who computed when: a bar per job, darker the older the model is when the result is aggregated.

    A result that waited has a thin line until then. Long runs show their beginning, and of many clients some
    of every speed; the axis says so.
    """
    _check_jobs(jobs, names)
    rows = shown_clients(jobs)
    horizon = shown_time(jobs, rows)
    shown = jobs.take(np.isin(jobs.clients, rows) & (jobs.started < horizon))
    picture = figure(_WIDTH, float(np.clip(1.25 + 0.17 * len(rows), 1.8, 6.4)))
    axes = picture.subplots()
    axes.set_xlim(0, horizon)
    axes.set_ylim(max(len(rows), 1) - 0.4, -0.6)
    _draw_aggregations(axes, jobs, horizon)
    _draw_jobs(axes, shown, _row_of(shown.clients, rows))
    axes.set_title("Who computed when")
    axes.grid(visible=False)
    axes.set_xlabel(_shown_label(jobs, shown, rows))
    _name_rows(axes, rows, len(np.unique(jobs.clients)) == len(rows), names)
    _age_legend(axes, shown)
    return picture


@styled
def against_time(runs: Metrics | Mapping[str, Metrics], names: Sequence[str]) -> Figure:
    """Each metric against rounds and, beside it, against simulated time: which of two runs is the better one
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
    grid[-1][1].set_xlabel(TIME)
    return picture


@styled
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
        axes.bar(left + 0.06 * width, shares, 0.88 * width, align="edge", color=colour(0), alpha=0.75)
        axes.set_ylim(0, 1.15 * shares.max())
        _mark_mean(axes, ages)
    axes.set_xlabel(f"aggregations since the model was sent; {len(ages):,} results")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))
    return picture


@styled
def target_and_surrogate(
    at: ArrayLike,
    target: ArrayLike,
    surrogate: ArrayLike,
    spreads: tuple[ArrayLike, ArrayLike] | None = None,
    axis: str = TIME,
) -> Figure:
    """The loss that counts clients by importance, beside the one that counts them as their results weighed.

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


def shown_clients(jobs: Jobs) -> Numbers:
    """The clients that get a row: all, quickest first; or, of very many, some of every speed among those that
    begin first, in the order in which they do."""
    clients, place = np.unique(jobs.clients, return_inverse=True)
    if not len(clients):
        return clients
    # Rounded, so that equal times with different rounding errors keep the order of clients.
    pace = (np.bincount(place, jobs.finished - jobs.started) / np.bincount(place)).round(9)
    if len(clients) <= _MOST_ROWS:
        return clients[np.argsort(pace, kind="stable")]
    begin = np.full(len(clients), np.inf)
    np.minimum.at(begin, place, jobs.started)
    early = np.flatnonzero(begin <= np.partition(begin, _MOST_ROWS - 1)[_MOST_ROWS - 1])
    order = early[np.lexsort((pace[early], begin[early]))]
    return clients[order[np.linspace(0, len(order) - 1, _MOST_ROWS).round().astype(np.int64)]]


def shown_time(jobs: Jobs, rows: Numbers) -> float:
    """Until when these clients' bars can be told apart, and their rows are as full as in the beginning."""
    mine = jobs.take(np.isin(jobs.clients, rows))
    if not len(mine.clients):
        return 1.0
    mine = mine.take(np.argsort(mine.aggregated, kind="stable"))
    firsts = np.unique(mine.clients, return_index=True)[1]
    position, everyone = np.arange(len(mine.clients)), firsts.max()
    busy = np.cumsum(mine.aggregated - mine.started) / np.maximum(mine.aggregated, 1e-300)
    fits = (_times_before(mine.clients) < _MOST_IN_A_ROW) & (position < _MOST_JOBS)
    until = len(fits) if fits.all() else int(np.argmin(fits))
    full = (position <= everyone) | (busy >= 0.8 * busy[everyone])
    return float(mine.aggregated[np.flatnonzero(full[:until])[-1]]) or 1.0


def _times_before(clients: Numbers) -> Numbers:
    """How often each entry has been there before.

    >>> _times_before(np.array([7, 3, 7, 7]))
    array([0, 0, 1, 2])
    """
    order = np.argsort(clients, kind="stable")
    begins = np.r_[True, np.diff(clients[order]) != 0]
    position = np.arange(len(clients))
    counts = np.empty_like(position)
    counts[order] = position - np.maximum.accumulate(np.where(begins, position, 0))
    return counts


def _check_jobs(jobs: Jobs, names: Sequence[str] | None) -> None:
    lengths = {len(column) for column in jobs}
    if len(lengths) > 1:
        raise ConfigError(f"jobs need columns of one length, but these have {sorted(lengths)}.")
    if names is not None and len(jobs.clients) and jobs.clients.max() >= len(names):
        raise ConfigError(f"client {jobs.clients.max()} has no name; there are {len(names)} names.")


def _row_of(clients: Numbers, rows: Numbers) -> Numbers:
    order = np.argsort(rows)
    return order[np.searchsorted(rows, clients, sorter=order)] if len(rows) else clients


def _draw_aggregations(axes: Axes, jobs: Jobs, horizon: float) -> None:
    """A faint line at each, unless there are so many that they would be a surface."""
    times = np.unique(jobs.aggregated[jobs.aggregated <= horizon])
    if len(times) <= _MOST_LINES:
        axes.vlines(times, *axes.get_ylim(), color=FAINT, linewidth=0.8, zorder=0.5)


def _draw_jobs(axes: Axes, shown: Jobs, row: Numbers) -> None:
    gap = 0.0016 * axes.get_xlim()[1]  # between a job and the next, and the least width of one
    ends = np.maximum(shown.finished - gap, shown.started + gap)
    across = np.stack([shown.started, shown.started, ends, ends], axis=1)
    down = row[:, None] + 0.36 * np.array([-1, 1, 1, -1])
    bars = PolyCollection(list(np.stack([across, down], axis=-1)), facecolors=_inks(shown.staleness))
    axes.add_collection(bars, autolim=False)
    late = shown.aggregated > shown.finished
    nothing = np.full(late.sum(), np.nan)
    times = np.stack([shown.finished[late], shown.aggregated[late], nothing], axis=1).ravel()
    # One line with breaks is much less to write down than many lines.
    axes.plot(times, np.repeat(row[late], 3), color=MUTED, linewidth=0.7, alpha=0.6, zorder=0.9)
    _write_versions(axes, shown, row)


def _write_versions(axes: Axes, shown: Jobs, row: Numbers) -> None:
    """The number of the model in each bar, where bars are few and long."""
    lengths = (shown.finished - shown.started) / axes.get_xlim()[1]
    if not len(row) or len(row) > _MOST_NUMBERS or np.median(lengths) < _LONG_BAR:
        return
    light = shown.staleness < _scale_end(shown.staleness) / 3
    for k in np.flatnonzero(lengths >= _LONG_BAR / 2).tolist():
        middle = (shown.started[k] + shown.finished[k]) / 2
        ink = "#1d232c" if light[k] else "#fefefe"  # not those that a dark page exchanges: bars stay too
        style = {"ha": "center", "va": "center", "fontsize": 8, "color": ink, "clip_on": True}
        axes.text(middle, row[k], str(shown.versions[k]), **style)


def _scale_end(staleness: Numbers) -> int:
    """The age of the darkest colour; at least three, for one version is not old."""
    return max(int(staleness.max(initial=0)), 3)


def _inks(staleness: Numbers) -> Floats:
    return np.asarray(_AGES(staleness / _scale_end(staleness)))


def _shown_label(jobs: Jobs, shown: Jobs, rows: Numbers) -> str:
    everyone = len(np.unique(jobs.clients))
    parts = (
        [f"{len(shown.clients):,} of {len(jobs.clients):,} jobs"]
        if len(shown.clients) < len(jobs.clients)
        else []
    )
    parts += [f"{len(rows)} of {everyone:,} clients"] if len(rows) < everyone else []
    return f"{TIME} ({', '.join(parts)})" if parts else TIME


def _name_rows(axes: Axes, rows: Numbers, everyone: bool, names: Sequence[str] | None) -> None:
    words = [str(client) if names is None else names[client] for client in rows.tolist()]
    short = [word if len(word) <= 24 else f"{word[:23]}…" for word in words]
    axes.set_yticks(range(len(rows)), short, fontsize=9.5 if len(rows) <= 20 else 7.5)
    order = "quickest first" if everyone else "in the order of first jobs"
    axes.set_ylabel(f"client, {order}" if len(rows) > 5 else "client")


def _age_legend(axes: Axes, shown: Jobs) -> None:
    if not len(shown.clients):
        return
    oldest = int(shown.staleness.max())
    levels = np.unique(MaxNLocator(integer=True, nbins=5).tick_values(0, max(oldest, 1))).astype(np.int64)
    levels = levels[(levels >= 0) & (levels <= oldest)]
    words = [f"{level:,}" for level in levels]
    words[-1] += " version old" if levels[-1] == 1 else " versions old"
    inks = _AGES(levels / _scale_end(shown.staleness))
    handles: list[Any] = [Patch(facecolor=ink, label=word) for ink, word in zip(inks, words, strict=True)]
    if (shown.aggregated > shown.finished).any():
        handles.append(Line2D([], [], color=MUTED, linewidth=0.7, alpha=0.6, label="waits"))
    axes.legend(
        handles=handles,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=len(handles),
        frameon=False,
        labelcolor=INK,
        handlelength=1.0,
        handleheight=1.0,
        handletextpad=0.5,
        columnspacing=1.0,
        borderaxespad=0.4,
    )


def _by_name(runs: Metrics | Mapping[str, Metrics]) -> Mapping[str, Metrics]:
    return {"": cast(Metrics, runs)} if "round" in runs else cast(Mapping[str, Metrics], runs)


def _pair(left: Axes, right: Axes, runs: Mapping[str, Metrics], name: str) -> None:
    for index, metrics in enumerate(runs.values()):
        if name in metrics:
            style = {"color": colour(index), "linestyle": dash(index)}
            line(left, metrics["round"], metrics[name], **style)
            line(right, clock(metrics), metrics[name], **style)
    left.set_title(title(name))
    scale(left, name)
    ends = [last(metrics[name]) if name in metrics else np.nan for metrics in runs.values()]
    texts = [f"{run} {value(name, end)}".strip() for run, end in zip(runs, ends, strict=True)]
    label_ends(right, ends, texts, [colour(index) for index in range(len(runs))])


def clock(metrics: Metrics) -> Floats:
    """The simulated time of each round; the start, before anything was aggregated, is at zero.

    >>> clock({"round": np.array([0, 1]), "clock": np.array([np.nan, 0.5])})
    array([0. , 0.5])
    """
    rounds = np.asarray(metrics["round"])
    times = np.asarray(metrics.get("clock", np.full(len(rounds), np.nan)), np.float64)
    return np.where(rounds == 0, 0.0, times)


def _mark_mean(axes: Axes, ages: Numbers) -> None:
    mean, oldest = float(ages.mean()), int(ages.max())
    right = mean < 0.6 * oldest
    axes.axvline(mean, color=PALETTE[1], linewidth=1.2, linestyle=(0, (4, 3)))
    axes.annotate(
        f"mean {mean:.1f}, oldest {oldest:,}" if mean < 1000 else f"mean {mean:,.0f}, oldest {oldest:,}",
        (mean, 1.0),
        (5 if right else -5, -1),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        color=PALETTE[1],
        ha="left" if right else "right",
        va="top",
    )


def _objectives(axes: Axes, at: ArrayLike, target: ArrayLike, surrogate: ArrayLike) -> None:
    # Where the two are equal, the lower line is seen beside the upper one.
    line(axes, at, target, color=colour(0), linewidth=3.4)
    line(axes, at, surrogate, color=colour(1), linewidth=1.4)
    _powers(axes, np.concatenate([np.asarray(target, np.float64), np.asarray(surrogate, np.float64)]))
    ends = [last(target), last(surrogate)]
    texts = [f"{word} {number_text(end)}" for word, end in zip(("target", "surrogate"), ends, strict=True)]
    label_ends(axes, [_straight(axes, end) for end in ends], texts, [colour(0), colour(1)], gap=0.085)


def _powers(axes: Axes, values: Floats) -> None:
    """Equal factors at equal distances where values end far below the first ones; zeros are not shown."""
    positive = values[np.isfinite(values) & (values > 0)]
    shown = positive[positive > 1e-3 * positive.max(initial=0)]
    if not shown.size or shown.max() < 8 * shown.min():
        return
    axes.set_yscale("log")
    axes.set_ylim(0.85 * shown.min(), 1.15 * shown.max())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda height, _: f"{height:g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def _straight(axes: Axes, height: float) -> float:
    """The height that a linear axis with the same ends has where this one has `height`."""
    low, high = axes.get_ylim()
    if axes.get_yscale() == "linear" or not height > 0:
        return height
    return float(low + (high - low) * np.log(height / low) / np.log(high / low))
