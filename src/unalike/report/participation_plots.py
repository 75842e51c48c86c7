"""Figures of participation: frequencies, gaps and class representation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from ..core.figure_style import INK, MUTED, PALETTE, PAPER, color, dash, figure, label_ends, with_figure_style
from ..errors import ConfigError
from ..participation import WeightStatistics
from ..theory.sampling.comparison import step_length
from ..typing import Bools, Float64s, Int64s
from .plots import last, line, rounds_axis
from .text_format import number_text

PRESENCE = ("away", "there, not used", "used", "excluded")
"""What the codes 0 to 3 of a timeline mean."""
_PRESENCE_COLORS = ("#ffffff", "#a9cbe3", PALETTE[0], PALETTE[1])
_MOST_POINTS = 1000
_MOST_ROWS, _MOST_COLUMNS, _MOST_NAMES = 200, 600, 40


@with_figure_style
def weight_variance(statistics: Mapping[str, WeightStatistics]) -> Figure:
    """The variance of every client's weight, the most important client first, with a line per scheme.

    Weights are scaled to sum to one on average. Schemes with the same variances share a line; those without
    any are named below.
    """
    picture = figure(8.8, 3.8)
    axes = picture.subplots()
    lines, steady = _variance_lines(statistics)
    shown = _choose_clients(_count(statistics))
    powers = _need_powers(lines.values())
    heights = [_logarithm(variance[shown]) if powers else variance[shown] for variance in lines.values()]
    for index, height in enumerate(heights):
        # Where lines cover each other, the lower ones are seen beside the upper ones.
        width = 3.4 - 2 * index / max(len(lines) - 1, 1)
        style = {"color": color(index), "linestyle": dash(index), "linewidth": width}
        line(axes, shown + 1, height, drawstyle="steps-mid", **style)
    axes.set_title("Variance of each client's weight, and the sum over all")
    axes.set_xlabel(_clients_label(_count(statistics), steady))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    _variance_scale(axes, powers)
    _label_variances(axes, lines, heights)
    return picture


@with_figure_style
def classes_per_round(
    rounds: ArrayLike, counts: Mapping[str, ArrayLike], window: int = 50, classes: int | None = None
) -> Figure:
    """How many classes the clients of a round hold, faint, and the rolling mean of it, for several runs."""
    picture = figure(7.6, 3.4)
    axes = picture.subplots()
    means = {name: _drop_first_means(rolling_mean(column, window), window) for name, column in counts.items()}
    for index, (name, column) in enumerate(counts.items()):
        line(axes, rounds, column, color=color(index), linewidth=0.6, alpha=0.25)
        line(axes, rounds, means[name], color=color(index), linestyle=dash(index))
    if classes is not None:
        axes.axhline(classes, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=0.9)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axes.set_title(f"Classes per round, and their mean over {window} rounds")
    rounds_axis(axes)
    ends = [last(mean) for mean in means.values()]
    texts = [f"{name} {end:.1f}" for name, end in zip(means, ends, strict=True)]
    label_ends(axes, ends, texts, [color(index) for index in range(len(means))])
    return picture


@with_figure_style
def availability_timeline(
    rounds: ArrayLike, presence: NDArray[np.int8], names: Sequence[str] | None = None
) -> Figure:
    """Which client (row) was away, there but not used, used, or excluded (0 to 3) in which round (column).

    Many clients or rounds share cells, whose color is then the mean of theirs.
    """
    codes, numbers = np.asarray(presence), np.asarray(rounds)
    _check_timeline(codes, numbers, names)
    height, width = (
        -(-size // most) for size, most in zip(codes.shape, (_MOST_ROWS, _MOST_COLUMNS), strict=True)
    )
    picture = figure(8.4, float(np.clip(1.5 + 0.2 * codes.shape[0], 2.2, 5.6)))
    axes = picture.subplots()
    if codes.size:
        extent = (numbers[0] - 0.5, numbers[-1] + 0.5, len(codes) - 0.5, -0.5)
        pixels = _blend_colors(codes, height, width)
        axes.imshow(pixels, aspect="auto", interpolation="nearest", extent=extent)
        if len(codes) <= _MOST_NAMES:
            axes.hlines(np.arange(1, len(codes)) - 0.5, *extent[:2], color=PAPER, linewidth=1.2)
    axes.set_title("Who takes part")
    axes.grid(visible=False)
    rounds_axis(axes)
    axes.set_xlabel(_cells_label(height, width))
    _name_rows(axes, len(codes), names)
    _legend(axes, codes)
    return picture


def rolling_mean(values: ArrayLike, window: int) -> Float64s:
    """The mean of the last `window` values that were measured; of fewer at the beginning.

    >>> rolling_mean([1.0, 3.0, 8.0], 2)
    array([1. , 2. , 5.5])
    """
    column = np.asarray(values, np.float64)
    sums, seen = (np.cumsum(part) for part in (np.nan_to_num(column), np.isfinite(column)))
    before = [np.concatenate([np.zeros(min(window, len(column))), part[:-window]]) for part in (sums, seen)]
    with np.errstate(invalid="ignore", divide="ignore"):
        return (sums - before[0]) / (seen - before[1])


def _drop_first_means(means: Float64s, window: int) -> Float64s:
    """Without the first means, which are of too few rounds to say anything; unless there are no others."""
    early = min(window // 5, len(means) - 1)
    return np.where(np.arange(len(means)) < early, np.nan, means)


def _variance_lines(statistics: Mapping[str, WeightStatistics]) -> tuple[dict[str, Float64s], list[str]]:
    """Variances by importance, under the names of all schemes that share them; and schemes without any."""
    groups: list[tuple[list[str], Float64s]] = []
    steady = []
    for name, known in statistics.items():
        variance = known.variance[np.argsort(-known.importance, kind="stable")] / step_length(known) ** 2
        same = next((names for names, other in groups if _alike(variance, other)), None)
        if variance.sum() < 1e-12:
            steady.append(name)
        elif same is not None:
            same.append(name)
        else:
            groups.append(([name], variance))
    return {", ".join(names): variance for names, variance in groups}, steady


def _label_variances(axes: Axes, lines: Mapping[str, Float64s], heights: Sequence[Float64s]) -> None:
    """Each line's schemes and the sum of their variances, on as many rows as that takes."""
    words = [f"{name} {number_text(variance.sum())}" for name, variance in lines.items()]
    rows = [wrap(text, 32, break_on_hyphens=False) for text in words]
    gap = 0.015 + 0.055 * max((len(row) for row in rows), default=1)
    inks = [color(index) for index in range(len(lines))]
    label_ends(axes, [last(height) for height in heights], ["\n".join(row) for row in rows], inks, gap)


def _alike(one: Float64s, other: Float64s) -> bool:
    return one.shape == other.shape and np.allclose(one, other, rtol=1e-6, atol=0)


def _need_powers(variances: Iterable[Float64s]) -> bool:
    """Whether variances differ so much that equal factors should be equal distances."""
    positive = np.concatenate([np.ones(0), *(variance[variance > 0] for variance in variances)])
    return positive.size > 0 and bool(positive.max() > 10 * positive.min())


def _variance_scale(axes: Axes, powers: bool) -> None:
    if not powers:
        axes.set_ylim(0, 1.1 * axes.get_ylim()[1])
        return
    low, high = axes.get_ylim()
    factors = (1, 2, 5) if high - low < 2 else (1, 3) if high - low < 4 else (1,)
    ticks = [np.log10(f) + k for k in range(int(np.floor(low)), int(np.ceil(high))) for f in factors]
    axes.set_yticks(ticks, [f"{10**tick:.1g}" for tick in ticks])
    axes.set_ylim(low, high)


def _logarithm(variance: Float64s) -> Float64s:
    """To the base of ten; a variance of zero is not drawn."""
    return np.log10(np.where(variance > 0, variance, np.nan))


def _count(statistics: Mapping[str, WeightStatistics]) -> int:
    return max((len(known.importance) for known in statistics.values()), default=0)


def _choose_clients(clients: int) -> Int64s:
    """All clients or, of very many, some at even distances."""
    return np.unique(np.linspace(0, max(clients - 1, 0), min(clients, _MOST_POINTS)).round().astype(np.int64))


def _clients_label(clients: int, steady: Sequence[str]) -> str:
    none = f"; {', '.join(steady)}: no variance" if steady else ""
    return f"{clients:,} clients, the most important first{none}"


def _check_timeline(codes: NDArray[np.int8], rounds: Int64s, names: Sequence[str] | None) -> None:
    if codes.ndim != 2 or codes.shape[1] != len(rounds):
        raise ConfigError(
            f"a timeline of {len(rounds)} rounds needs as many columns, but has shape {codes.shape}."
        )
    if names is not None and len(names) != len(codes):
        raise ConfigError(f"a timeline of {len(codes)} clients needs as many names, but has {len(names)}.")
    if codes.size and not (codes.min() >= 0 and codes.max() < len(PRESENCE)):
        raise ConfigError(f"a timeline's codes are 0 to {len(PRESENCE) - 1}, but one is {codes.max()}.")


def _blend_colors(codes: NDArray[np.int8], height: int, width: int) -> Float64s:
    """Colors of blocks of cells: the mean color of those who are not away, as opaque as they are many."""
    colors = np.array([to_rgb(ink) for ink in _PRESENCE_COLORS])
    starts = np.arange(0, codes.shape[0], height), np.arange(0, codes.shape[1], width)
    counts = np.stack([_block_sums(codes == code, *starts) for code in range(len(PRESENCE))], axis=-1)
    there = counts[..., 1:].sum(axis=-1, keepdims=True)
    inks = counts[..., 1:] @ colors[1:] / np.maximum(there, 1)
    return np.concatenate([inks, there / counts.sum(axis=-1, keepdims=True)], axis=-1)


def _block_sums(cells: Bools, rows: Int64s, columns: Int64s) -> Float64s:
    return np.add.reduceat(np.add.reduceat(cells.astype(np.float64), rows, axis=0), columns, axis=1)


def _cells_label(height: int, width: int) -> str:
    shared = [f"{size} {what}" for size, what in ((width, "rounds"), (height, "clients")) if size > 1]
    return f"round (a cell is the mean of {' and '.join(shared)})" if shared else "round"


def _name_rows(axes: Axes, clients: int, names: Sequence[str] | None) -> None:
    if names is not None and clients <= _MOST_NAMES:
        axes.set_yticks(range(clients), names)
        return
    axes.set_ylabel("client")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))


def _legend(axes: Axes, codes: NDArray[np.int8]) -> None:
    shares = np.bincount(codes.ravel(), minlength=len(PRESENCE)) / max(codes.size, 1)
    handles = [
        Patch(
            facecolor=ink if code else "none",
            edgecolor=MUTED,
            linewidth=0.5,
            label=f"{word} {100 * shares[code]:.0f} %",
        )
        for code, (word, ink) in enumerate(zip(PRESENCE, _PRESENCE_COLORS, strict=True))
        if shares[code] > 0
    ]
    axes.legend(
        handles=handles,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=len(PRESENCE),
        frameon=False,
        labelcolor=INK,
        handlelength=1.0,
        handleheight=1.0,
        columnspacing=1.4,
        borderaxespad=0.4,
    )
