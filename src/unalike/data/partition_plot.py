"""Label distribution plot of a partition.

Above, how many rows each client has. Below, for a classification, what they are: bubbles with an area
proportional to the count for a few clients, shades for many. For a regression, the spread of each client's
targets.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..typing import Float64s, Int64s
from .federation import Federation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import Locator


_INK, _PALE, _DEEP = "#2b3440", "#c9d3dc", "#1f6f8b"
_SHADES = ("#ffffff", "#d3e6ea", "#7fb7c4", "#1f6f8b", "#0b3b4d")
_MOST_CLIENTS = 100
_MOST_BUBBLE_CLIENTS, _MOST_BUBBLE_CLASSES = 40, 20


def draw_partition(federation: Federation, path: str | Path | None = None) -> Figure:
    """A picture of who has what, written to `path` when one is given."""
    from ..core.figures import Figure

    shown = clients_shown(federation)
    figure = Figure(figsize=(11, 5.6), layout="constrained", facecolor="white")
    sizes, main = figure.subplots(2, 1, sharex=True, height_ratios=(1, 3.2))
    _draw_sizes(sizes, federation.train.sizes[shown])
    if federation.classes is None:
        _draw_targets(main, federation, shown)
    elif len(shown) <= _MOST_BUBBLE_CLIENTS and federation.classes <= _MOST_BUBBLE_CLASSES:
        _draw_bubbles(main, federation.label_counts()[shown])
    else:
        _draw_shades(figure, main, federation.label_counts()[shown])
    _name_classes(main, federation)
    _name_clients(main, federation, shown)
    sizes.set_title(_title(federation), loc="left", fontsize=12, color=_INK, pad=10)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def clients_shown(federation: Federation) -> Int64s:
    """All clients or, of more than a hundred, a hundred evenly spaced from the largest to the smallest."""
    if len(federation) <= _MOST_CLIENTS:
        return np.arange(len(federation))
    by_size = np.argsort(-federation.train.sizes, kind="stable")
    return by_size[np.linspace(0, len(federation) - 1, _MOST_CLIENTS).round().astype(np.int64)]


def _draw_sizes(axes: Axes, sizes: Int64s) -> None:
    axes.bar(np.arange(len(sizes)), sizes, width=0.75, color=_PALE)
    axes.set_ylabel("rows", color=_INK)
    axes.margins(x=0.01)
    axes.yaxis.set_major_locator(_few_whole_ticks())
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    _quiet(axes)
    axes.tick_params(bottom=False)


def _draw_bubbles(axes: Axes, counts: Int64s) -> None:
    clients, classes = counts.shape
    # The largest bubble just fills its cell (11 x 4 inches, 72 points each) but is never a balloon.
    widest = min(0.92 * min(11 * 72 * 0.9 / clients, 4 * 72 * 0.9 / classes), 64)
    who, what = np.nonzero(counts)
    area = widest**2 * counts[who, what] / counts.max()
    axes.grid(color="#eef1f4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.scatter(who, what, s=area, color=_DEEP, alpha=0.85, linewidths=0)
    axes.set_ylim(classes - 0.4, -0.6)
    _quiet(axes)


def _draw_shades(figure: Figure, axes: Axes, counts: Int64s) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    shades = LinearSegmentedColormap.from_list("unalike", _SHADES)
    image = axes.imshow(shares.T, aspect="auto", cmap=shades, vmin=0, interpolation="nearest")
    bar = figure.colorbar(image, ax=axes, fraction=0.03, pad=0.01)
    bar.set_label("share of the client's rows", color=_INK)
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    bar.ax.tick_params(length=0, colors=_INK)
    bar.outline.set_visible(False)
    _quiet(axes)


def _draw_targets(axes: Axes, federation: Federation, shown: Int64s) -> None:
    """Per client a line from the 5th to the 95th percentile, a bar over the middle half, a median."""
    quantiles = np.array([_target_quantiles(federation, int(i)) for i in shown]).T
    at = np.arange(len(shown))
    thick = max(1.5, min(9.0, 300 / len(shown)))
    axes.vlines(at, quantiles[0], quantiles[4], color=_PALE, linewidth=thick / 3)
    axes.vlines(at, quantiles[1], quantiles[3], color=_DEEP, linewidth=thick)
    axes.scatter(at, quantiles[2], s=max(3.0, thick**2 / 3), color="white", zorder=3)
    axes.set_ylabel("target", color=_INK)
    axes.grid(axis="y", color="#eef1f4", linewidth=0.8)
    axes.set_axisbelow(True)
    _quiet(axes)


def _target_quantiles(federation: Federation, client: int) -> Float64s:
    y = federation.train.client(client)[1]
    return np.quantile(y if y.ndim == 1 else y[:, 0], (0.05, 0.25, 0.5, 0.75, 0.95))


def _name_classes(axes: Axes, federation: Federation) -> None:
    if federation.classes is None:
        return
    # So many classes that their names would touch get every second, third, ... name only.
    step = -(-federation.classes // 25)
    ticks = np.arange(0, federation.classes, step)
    names = federation.label_names
    words = [str(t) if names is None else _visible(names[t]) for t in ticks]
    axes.set_yticks(ticks, words, color=_INK, parse_math=False)
    if names is None:
        axes.set_ylabel("class", color=_INK)


def _name_clients(axes: Axes, federation: Federation, shown: Int64s) -> None:
    if len(shown) < len(federation):
        axes.set_xlabel(
            f"{len(shown)} of {len(federation):,} clients, from the largest to the smallest", color=_INK
        )
        axes.set_xticks([])
        return
    names = [federation.name(int(i)) for i in shown]
    step = -(-sum(len(name) + 2 for name in names) // 150)
    ticks = np.arange(0, len(shown), step)
    axes.set_xticks(ticks, [names[t] for t in ticks], color=_INK, parse_math=False)
    axes.set_xlabel("client", color=_INK)


def _title(federation: Federation) -> str:
    rows = int(federation.train.offsets[-1])
    what = f"{federation.description}: " if federation.description else ""
    return f"{what}{len(federation):,} clients, {rows:,} training rows"


def _visible(name: str) -> str:
    return {" ": "space", "\n": "new line", "\t": "tab"}.get(name, name)


def _few_whole_ticks() -> Locator:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=3, integer=True)


def _quiet(axes: Axes) -> None:
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, colors=_INK)
