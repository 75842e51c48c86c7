"""Job timeline and staleness figures: who computed when, from which version?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ..core.figure_style import FAINT, INK, MUTED, figure, with_figure_style
from ..errors import ConfigError
from ..typing import Array, ClientIds, Float64s, Int64s, Keywords

if TYPE_CHECKING:
    from matplotlib.artist import Artist

TIME = "simulated time"
_MOST_ROWS, _MOST_JOBS, _MOST_IN_A_ROW, _MOST_LINES = 40, 400, 40, 60
_MOST_NUMBERED, _LONG_BAR = 10, 0.03
_WIDTH = 8.4
# Not the colors of the palette, which a dark page exchanges one by one: these must stay in their order.
_AGES = LinearSegmentedColormap.from_list("ages", ["#b5d5ea", "#5ea3d0", "#4666b0", "#5b2c83"])


class FinishedJobs(NamedTuple):
    """Work that came to something: one entry per result that was aggregated."""

    clients: ClientIds
    started: Float64s
    finished: Float64s
    aggregated: Float64s
    """When the server took the result, which may have waited for that."""
    versions: Int64s
    """The model that each started from: the one after so many aggregations."""
    staleness: Int64s
    """How many aggregations happened between that model and this result's own."""

    def take(self, chosen: Array) -> FinishedJobs:
        """Some of the jobs, by position or by a mask."""
        return FinishedJobs._make(column[chosen] for column in self)


@with_figure_style
def gantt(jobs: FinishedJobs, names: Sequence[str] | None = None, axis: str = TIME) -> Figure:
    """Who computed when: a bar per job, darker the older the model is when the result is aggregated.

    A result that waited has a thin line until then. Long runs show their beginning, and of many clients some
    of every speed; the axis says so.
    """
    _check_jobs(jobs, names)
    rows = choose_clients(jobs)
    horizon = choose_horizon(jobs, rows)
    shown = jobs.take(np.isin(jobs.clients, rows) & (jobs.started < horizon))
    picture = figure(_WIDTH, float(np.clip(1.25 + 0.17 * len(rows), 1.8, 6.4)))
    axes = picture.subplots()
    axes.set_xlim(0, horizon)
    axes.set_ylim(max(len(rows), 1) - 0.4, -0.6)
    _draw_aggregations(axes, jobs, horizon)
    axes.set_title("Who computed when")
    axes.set_xlabel(_horizon_label(jobs, shown, rows, horizon, axis))
    _draw_jobs(axes, shown, _row_of(shown.clients, rows))
    axes.grid(visible=False)
    _name_rows(axes, rows, len(np.unique(jobs.clients)) == len(rows), names)
    _age_legend(axes, shown)
    return picture


def choose_clients(jobs: FinishedJobs) -> ClientIds:
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


def choose_horizon(jobs: FinishedJobs, rows: ClientIds) -> float:
    """Until when bars can be told apart; and, where not all clients have a row, until when rows are as full
    as in the beginning, for clients of drawn cohorts return rarely."""
    mine = jobs.take(np.isin(jobs.clients, rows))
    if not len(mine.clients):
        return 1.0
    mine = mine.take(np.argsort(mine.aggregated, kind="stable"))
    by_row = (mine.aggregated[mine.clients == client] for client in rows)
    limit = min(_when(mine.aggregated, _MOST_JOBS), *(_when(times, _MOST_IN_A_ROW) for times in by_row))
    some = len(rows) < len(np.unique(jobs.clients))
    everyone = np.unique(mine.clients, return_index=True)[1].max() if some else len(mine.clients) - 1
    busy = np.cumsum(mine.aggregated - mine.started) / np.maximum(mine.aggregated, 1e-300)
    full = (np.arange(len(busy)) <= everyone) | (busy >= 0.8 * busy[everyone])
    return float(mine.aggregated[full & (mine.aggregated <= limit)].max()) or 1.0


def _when(times: Float64s, count: int) -> float:
    """When so many are done; never, if there are not so many."""
    return float(times[count - 1]) if len(times) >= count else np.inf


def _check_jobs(jobs: FinishedJobs, names: Sequence[str] | None) -> None:
    lengths = {len(column) for column in jobs}
    if len(lengths) > 1:
        raise ConfigError(f"jobs need columns of one length, but these have {sorted(lengths)}.")
    if names is not None and len(jobs.clients) and jobs.clients.max() >= len(names):
        raise ConfigError(f"client {jobs.clients.max()} has no name; there are {len(names)} names.")


def _row_of(clients: ClientIds, rows: ClientIds) -> ClientIds:
    order = np.argsort(rows)
    return order[np.searchsorted(rows, clients, sorter=order)] if len(rows) else clients


def _draw_aggregations(axes: Axes, jobs: FinishedJobs, horizon: float) -> None:
    """A faint line at each, unless there are so many that they would be a surface."""
    times = np.unique(jobs.aggregated[jobs.aggregated <= horizon])
    if len(times) <= _MOST_LINES:
        axes.vlines(times, *axes.get_ylim(), color=FAINT, linewidth=0.8, zorder=0.5)


def _draw_jobs(axes: Axes, shown: FinishedJobs, row: ClientIds) -> None:
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


def _write_versions(axes: Axes, shown: FinishedJobs, row: ClientIds) -> None:
    """The number of the model in each bar, where bars are few and long."""
    lengths = (shown.finished - shown.started) / axes.get_xlim()[1]
    if not len(row) or row.max() >= _MOST_NUMBERED or np.median(lengths) < _LONG_BAR:
        return
    axes.set_xlabel(f"{axes.get_xlabel()}; numbers are the models that jobs start from")
    light = shown.staleness < _scale_end(shown.staleness) / 2
    for k in np.flatnonzero(lengths >= _LONG_BAR / 2).tolist():
        middle = (shown.started[k] + shown.finished[k]) / 2
        ink = "#1d232c" if light[k] else "#fefefe"  # not those that a dark page exchanges: bars stay too
        style: Keywords = {"ha": "center", "va": "center_baseline", "fontsize": 8, "clip_on": True}
        axes.text(middle, row[k], str(shown.versions[k]), color=ink, **style)


def _scale_end(staleness: Int64s) -> int:
    """The age of the darkest color; at least three, for one version is not old."""
    return max(int(staleness.max(initial=0)), 3)


def _inks(staleness: Int64s) -> Float64s:
    return np.asarray(_AGES(staleness / _scale_end(staleness)))


def _horizon_label(
    jobs: FinishedJobs, shown: FinishedJobs, rows: ClientIds, horizon: float, axis: str
) -> str:
    """The axis, and how much of the run is seen."""
    everyone, seen, total = len(np.unique(jobs.clients)), len(shown.clients), len(jobs.clients)
    if seen == total:
        return axis
    part = ", its beginning" if horizon < jobs.aggregated.max() else ""
    some = f", of {len(rows)} of {everyone:,} clients" if len(rows) < everyone else ""
    return f"{axis}{part}: {seen:,} of {total:,} jobs{some}"


def _name_rows(axes: Axes, rows: ClientIds, everyone: bool, names: Sequence[str] | None) -> None:
    words = [str(client) if names is None else names[client] for client in rows.tolist()]
    short = [word if len(word) <= 24 else f"{word[:23]}…" for word in words]
    axes.set_yticks(range(len(rows)), short, fontsize=9.5 if len(rows) <= 20 else 7.5)
    order = "quickest first" if everyone else "by first job, then by speed"
    axes.set_ylabel(f"client, {order}" if len(rows) > 5 else "client")


def _age_legend(axes: Axes, shown: FinishedJobs) -> None:
    if not len(shown.clients):
        return
    oldest = int(shown.staleness.max())
    levels = np.unique(MaxNLocator(integer=True, nbins=5).tick_values(0, max(oldest, 1))).astype(np.int64)
    levels = levels[(levels >= 0) & (levels <= oldest)]
    words = [f"{level:,}" for level in levels] if oldest else ["from the newest model"]
    words[-1] += {0: "", 1: " version old"}.get(int(levels[-1]), " versions old")
    inks = _AGES(levels / _scale_end(shown.staleness))
    handles: list[Artist] = [Patch(facecolor=ink, label=word) for ink, word in zip(inks, words, strict=True)]
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
