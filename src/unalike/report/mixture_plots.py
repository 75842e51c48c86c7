"""Figures of a mixture of models: mixture weights and similarity of clients."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from ..advice.mixtures import clusters, component_rows, dead_components, similarity
from ..core.figure_style import INK, MUTED, PALETTE, PAPER, color, figure, with_figure_style
from ..typing import Float64s, Int64s

SHADES = LinearSegmentedColormap.from_list("shares", [PAPER, PALETTE[0]])
"""From nothing to all."""


@with_figure_style
def mixture_heatmap(weights: ArrayLike) -> Figure:
    """The share of every component at every client, clients sorted by their main one."""
    rows = np.asarray(weights, np.float64)
    picture = figure(7.4, 0.5 * rows.shape[1] + 1.5)
    axes = picture.subplots()
    drawn = _table(axes, rows[by_component(rows)].T)
    axes.set_title("Mixture weights")
    axes.set_xlabel(f"{len(rows):,} clients, by main component")
    axes.set_yticks(range(rows.shape[1]), [f"component {m + 1}" for m in range(rows.shape[1])])
    _scale(picture, axes, drawn, "share")
    return picture


@with_figure_style
def component_use(weights: ArrayLike, sizes: ArrayLike | None = None) -> Figure:
    """How many rows (or clients) every component explains; dead ones are named."""
    rows = np.asarray(weights, np.float64)
    counted = np.ones(len(rows)) if sizes is None else np.asarray(sizes, np.float64)
    use, dead = component_rows(rows, counted), dead_components(rows, counted)
    picture = figure(5.2, 2.9)
    axes = picture.subplots()
    axes.bar(range(1, len(use) + 1), use, color=[color(m) for m in range(len(use))], width=0.62)
    for m, height in enumerate(use):
        words = "dead" if m in dead else f"{100 * height / max(use.sum(), 1e-300):.0f} %"
        axes.annotate(words, (m + 1, height), (0, 3), textcoords="offset points", ha="center", color=INK)
    axes.set_title("Rows explained" if sizes is not None else "Clients explained")
    axes.set_xlabel("component")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return picture


@with_figure_style
def similarity_matrix(weights: ArrayLike, cosine: bool = True) -> Figure:
    """How alike the mixture weights of every two clients are, clients sorted by main component."""
    rows = np.asarray(weights, np.float64)
    order = by_component(rows)
    picture = figure(4.9, 4.1)
    axes = picture.subplots()
    drawn = _table(axes, similarity(rows, cosine)[np.ix_(order, order)], square=True)
    edges = np.flatnonzero(np.diff(clusters(rows)[order])) + 0.5
    for edge in edges:
        axes.axvline(edge, color=MUTED, linewidth=0.6)
        axes.axhline(edge, color=MUTED, linewidth=0.6)
    axes.set_title("Who resembles whom")
    axes.set_xlabel(f"{len(rows):,} clients, by main component")
    axes.set_yticks([])
    _scale(picture, axes, drawn, "cosine" if cosine else "product")
    return picture


def by_component(weights: ArrayLike) -> Int64s:
    """Clients in the order of their main component, the purest first.

    >>> by_component([[0.1, 0.9], [0.6, 0.4], [0.8, 0.2]])
    array([2, 1, 0])
    """
    rows = np.asarray(weights, np.float64)
    return np.lexsort((-rows.max(axis=1), clusters(rows)))


def _table(axes: Axes, values: Float64s, square: bool = False) -> AxesImage:
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    drawn = axes.imshow(values, cmap=SHADES, vmin=0, vmax=1, interpolation="nearest")
    axes.set_aspect("equal" if square else "auto")
    return drawn


def _scale(picture: Figure, axes: Axes, drawn: AxesImage, label: str) -> None:
    bar = picture.colorbar(drawn, ax=axes, fraction=0.04, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label(label, color=MUTED)
