"""Figure style: fonts, colors and sizes of all figures.

Quiet: thin axes on two sides, pale lines to read values by, words next to the lines instead of a legend.
The colors follow Okabe and Ito (2008), which color-blind readers tell apart, the pale ones darkened until
words in them can be read on white. `INK`, `MUTED`, `FAINT`, `PAPER` and the palette appear in figures as
exactly these values, so that a page can exchange them for its own when it is dark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.typing import ColorType

from ..typing import Float64s, Keywords
from . import figures

INK, MUTED, FAINT, PAPER = "#1d232b", "#6b7480", "#e3e6ea", "#ffffff"
PALETTE = ("#0072b2", "#d55e00", "#00835f", "#b8578c", "#a87400", "#3d4450", "#6a4c93", "#7d5a3c")
_SIGNATURE = "unalike"
_END_OF_LINE = "end of line"
"""The label of words that name a line at its end."""
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)))

_RC: Any = {
    "font.family": "sans-serif",
    "font.size": 9.5,
    "text.color": INK,
    "text.parse_math": False,  # a client's name with dollars in it is not a formula
    "axes.facecolor": "none",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.xmargin": 0.01,
    "grid.color": FAINT,
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.width": 0.7,
    "ytick.major.size": 0,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    "figure.facecolor": PAPER,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.w_pad": 0.08,
}

P = ParamSpec("P")
R = TypeVar("R")


def with_figure_style(draw: Callable[P, R]) -> Callable[P, R]:
    """Draw with our style, and leave Matplotlib's own settings as they were."""

    @wraps(draw)
    def drawing(*args: P.args, **kwargs: P.kwargs) -> R:
        with mpl.rc_context(_RC):
            return draw(*args, **kwargs)

    return drawing


def figure(width: float, height: float) -> Figure:
    """An empty figure that belongs to nobody's window."""
    return figures.Figure(figsize=(width, height), label=_SIGNATURE)


def is_ours(drawn: Figure) -> bool:
    """Whether a figure has our colors, which a page may exchange for its own."""
    return drawn.get_label() == _SIGNATURE


def color(index: int) -> str:
    """The color of the index-th thing."""
    return PALETTE[index % len(PALETTE)]


def dash(index: int) -> str | tuple[float, tuple[float, ...]]:
    """The line style of the index-th thing: it changes after every four, so that colors alone decide between
    few, and no two of many look the same."""
    return _DASHES[index // (len(PALETTE) // 2) % len(_DASHES)]


def label_ends(
    axes: Axes, heights: Sequence[float], texts: Sequence[str], colors: Sequence[str], gap: float = 0.075
) -> None:
    """Write each text right of the axes at its line's last height, moved apart where they would touch.

    A height that is not a number is a line that was not drawn, and gets no text.
    """
    drawn = [entry for entry in zip(heights, texts, colors, strict=True) if np.isfinite(entry[0])]
    low, high = axes.get_ylim()
    wanted = (np.array([height for height, _, _ in drawn]) - low) / (high - low)
    for height, (_, text, ink) in zip(spread(wanted, gap), drawn, strict=True):
        place: Keywords = {"transform": axes.transAxes, "va": "center", "label": _END_OF_LINE}
        axes.text(1.015, height, text, color=ink, fontsize=9.5, **place)


def line_names(axes: Axes) -> list[tuple[str, str]]:
    """What stands beside the axes or in their legend, each with its color: what a narrow page says below."""
    ends = [(text.get_text(), text.get_color()) for text in axes.texts if text.get_label() == _END_OF_LINE]
    legend = axes.get_legend()
    handles: Sequence[Artist | None] = () if legend is None else legend.legend_handles
    colors = [_color_of(one) for one in handles]
    texts = [] if legend is None else [text.get_text() for text in legend.get_texts()]
    found = [*ends, *zip(texts, colors, strict=True)]
    return [(text, to_hex(ink)) for text, ink in found]


def _color_of(handle: Any) -> ColorType:
    """The color of a line, or of a patch or marker: of its edge, where it is hollow."""
    if not hasattr(handle, "get_facecolor"):
        return handle.get_color()
    inside = np.reshape(handle.get_facecolor(), (-1, 4))
    filled = len(inside) and inside[0, 3] > 0
    return inside[0] if filled else np.reshape(handle.get_edgecolor(), (-1, 4))[0]


def spread(wanted: Float64s, gap: float, top: float = 1.03) -> Float64s:
    """The wanted heights moved apart to at least `gap`, in the same order, and kept below `top`.

    >>> spread(np.array([0.5, 0.5]), 0.1).round(2)
    array([0.45, 0.55])
    """
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(order))
    # Heights minus their steps must not decrease; averaging where they do moves everything least.
    level = np.minimum(_not_decreasing(wanted[order] - steps), top - gap * (len(order) - 1)) + steps
    moved = np.empty_like(level)
    moved[order] = level
    return moved


def _not_decreasing(values: Float64s) -> Float64s:
    """The nearest sequence that never falls (pool adjacent violators)."""
    pools: list[tuple[float, int]] = []
    for value in values:
        mean, size = float(value), 1
        while pools and pools[-1][0] > mean:
            before, count = pools.pop()
            mean, size = (mean * size + before * count) / (size + count), size + count
        pools.append((mean, size))
    return np.repeat([mean for mean, _ in pools], [size for _, size in pools]) if pools else values
