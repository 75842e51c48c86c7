"""Figures of the similarity graph: violins, spectrum, heat map, layout, weights.

Panels are functions of axes, so that a page shows them one by one and a picture all together. Clients stand
in the order of the Fiedler vector wherever they stand in a row: those that are alike are neighbors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from scipy.stats import gaussian_kde, norm

from ..advice.cohort_similarity import CohortSimilarity
from ..core.figure_style import (
    FAINT,
    INK,
    MUTED,
    PALETTE,
    PAPER,
    color,
    figure,
    label_ends,
    with_figure_style,
)
from ..data import Federation
from ..data.similarity import Similarity
from ..data.similarity.graph import fiedler_order, spectrum
from ..data.similarity.misalignment import pairs
from ..data.similarity.sparse_graph import keep_edges
from ..typing import Float64s
from .plots import last, line, rounds_axis

Panel = Callable[[Axes, Similarity], None]
_SHADES = LinearSegmentedColormap.from_list("likeness", (PAPER, "#a9cbe3", PALETTE[0], INK))
_MOST_BARS = 50
_MOST_CELLS = 400
_NARROW = 0.5
"""Of the usual bandwidth of a density."""


def similarity_panels(found: Similarity) -> dict[str, Panel]:
    """What can be drawn of these clients: some panels need two or three of them."""
    panels: dict[str, Panel] = {"Weights by likeness": draw_degrees}
    if len(found.compared) > 1:
        panels = {"Similarity of pairs": draw_adjacency, "Spectral layout": draw_layout, **panels}
    if len(found.compared) > 2 and np.ptp(pairs(found.weights)) > 0:
        first: dict[str, Panel] = {
            "Misalignment of pairs": draw_violins,
            "Eigenvalues": draw_spectrum,
            "Log-normal check": draw_normal_check,
        }
        panels = {**first, **panels}
    return panels


@with_figure_style
def similarity_figures(found: Similarity, federation: Federation | None = None) -> dict[str, Figure]:
    """One figure for each panel, and client x class bars where there are classes."""
    figures = {}
    for name, draw in similarity_panels(found).items():
        picture = figure(8.4 if draw is draw_degrees else 6.0, 3.4)
        draw(picture.subplots(), found)
        figures[name] = picture
    if federation is not None and federation.classes is not None:
        picture = figure(8.4, 3.4)
        draw_classes(picture.subplots(), found, federation)
        figures["Classes of clients"] = picture
    return figures


@with_figure_style
def similarity_overview(found: Similarity, federation: Federation | None = None) -> Figure:
    """All panels in one picture."""
    panels = list(similarity_panels(found).values())
    classes = federation is not None and federation.classes is not None
    count = len(panels) + classes
    rows = -(-count // 2)
    picture = figure(11.0, 3.2 * rows)
    grid = picture.subplots(rows, 2, squeeze=False).ravel()
    for axes, draw in zip(grid, panels, strict=False):
        draw(axes, found)
    if classes and federation is not None:
        draw_classes(grid[len(panels)], found, federation)
    for axes in grid[count:]:
        axes.set_visible(False)
    return picture


@with_figure_style
def cohort_figure(cohorts: CohortSimilarity) -> Figure:
    """Homogeneity of every round's cohort, and of who is there, beside that of everyone."""
    picture = figure(8.4, 3.0)
    axes = picture.subplots()
    lines = {"cohort": cohorts.cohorts}
    if cohorts.available is not None:
        lines["available"] = cohorts.available
    for index, values in enumerate(lines.values()):
        line(axes, np.arange(1, len(values) + 1), values, color=color(index))
    axes.axhline(cohorts.everyone, color=MUTED, linewidth=1.0, linestyle=(0, (4, 2)))
    rounds_axis(axes)
    axes.set_title("Homogeneity of those who take part")
    heights = [*(last(values) for values in lines.values()), cohorts.everyone]
    inks = [*(color(index) for index in range(len(lines))), MUTED]
    label_ends(axes, heights, [*lines, "everyone"], inks)
    return picture


def draw_violins(axes: Axes, found: Similarity) -> None:
    """Misalignments of all pairs on a logarithmic axis: left of shuffled rows, right as they are."""
    shuffled = np.concatenate([np.zeros(0), *(pairs(weights) for weights in found.shuffled)])
    _half_violin(axes, shuffled, "low", MUTED)
    _half_violin(axes, pairs(found.weights), "high", color(0))
    axes.set_title("Misalignment of pairs")
    axes.set_ylabel("misalignment")
    axes.yaxis.set_major_formatter(lambda power, _: f"{10**power:.1g}")
    axes.set_xticks([-0.25, 0.25], ["rows shuffled", "as they are"])
    axes.set_xlim(-0.5, 0.5)


def draw_spectrum(axes: Axes, found: Similarity) -> None:
    """The density of the non-zero eigenvalues, with the second, the mean and the largest marked."""
    values = found.spectrum.values[1:]
    for weights in found.shuffled[:1]:
        _density(axes, spectrum(keep_edges(weights, found.graph)).values[1:], MUTED)
    _density(axes, values, color(0))
    marks = {"l_2": values[0], "mean": values.mean(), "l_n": values[-1]}
    for index, (name, at) in enumerate(marks.items()):
        axes.axvline(at, color=color(1), linewidth=0.9, linestyle=(0, (4, 2)))
        height = 0.97 - 0.09 * index
        words = f" {name} {at:.3g}"
        axes.text(at, height, words, transform=axes.get_xaxis_transform(), color=color(1), fontsize=8)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_yticks([])
    axes.set_title("Eigenvalues of the Laplacian (gray: rows shuffled)")


def draw_normal_check(axes: Axes, found: Similarity) -> None:
    """A histogram of weights with the normal law that was fitted to them."""
    edges, fit = pairs(found.weights), found.fit
    axes.hist(edges, bins="fd" if len(edges) < 5000 else 60, density=True, color="#a9cbe3")
    x = np.linspace(edges.min(), edges.max(), 200)
    axes.plot(x, norm(fit.theta, fit.phi).pdf(x), color=color(1))
    axes.set_yticks([])
    axes.set_title("Are misalignments log-normal?")
    axes.set_xlabel(
        f"-ln misalignment; normal law {fit.theta:.2f} ± {fit.phi:.2f}, largest gap {fit.distance:.2f}"
    )


def draw_adjacency(axes: Axes, found: Similarity) -> None:
    """The weights of all pairs, in the order of the Fiedler vector."""
    order = fiedler_order(found.spectrum)
    order = order[:: -(-len(order) // _MOST_CELLS)]
    table = found.edges[np.ix_(order, order)].copy()
    table[table == 0] = np.nan  # no edge
    image = axes.imshow(table, cmap=_SHADES, interpolation="nearest", aspect="auto")
    axes.figure.colorbar(image, ax=axes, fraction=0.045, pad=0.02).outline.set_visible(False)
    axes.grid(False)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    axes.set_title("-ln misalignment of pairs")
    axes.set_xlabel("clients in the order of the Fiedler vector")


def draw_layout(axes: Axes, found: Similarity) -> None:
    """Clients as points: the second and third eigenvectors; colors are groups."""
    places, groups = found.spectrum.layout(), found.groups()
    axes.scatter(
        places[:, 0], places[:, 1], s=22, c=[color(int(group)) for group in groups], linewidths=0, alpha=0.85
    )
    axes.set_title(f"Spectral layout; groups: {int(groups.max()) + 1}")
    axes.set_xlabel("Fiedler vector")
    axes.set_ylabel("third eigenvector")
    axes.margins(0.08)


def draw_degrees(axes: Axes, found: Similarity) -> None:
    """What clients would count by their likeness to others, over equal shares; 1 is neutral."""
    shares = found.importance * len(found.clients)
    shown = shares[found.compared][fiedler_order(found.spectrum)]
    shown = shown[:: -(-len(shown) // _MOST_CELLS)]
    axes.bar(np.arange(len(shown)), shown - 1, bottom=1, width=0.8, color=color(0))
    axes.axhline(1, color=MUTED, linewidth=0.9)
    axes.set_title("Weight by likeness, over an equal share")
    axes.set_xticks([])
    axes.set_xlabel("clients in the order of the Fiedler vector")


def draw_classes(axes: Axes, found: Similarity, federation: Federation) -> None:
    """Stacked bars: the rows of every class that clients have."""
    shown = found.compared[fiedler_order(found.spectrum)][:_MOST_BARS]
    counts = federation.label_counts()[shown]
    bottoms = np.cumsum(counts, axis=1) - counts
    for label in range(counts.shape[1]):
        # Colors repeat after some classes; a shade apart, neighbors are still told apart.
        shade = 1.0 if (label // len(PALETTE)) % 2 == 0 else 0.55
        at = np.arange(len(shown))
        axes.bar(at, counts[:, label], 0.85, bottoms[:, label], color=color(label), alpha=shade)
    more = f" (first {_MOST_BARS})" if len(found.compared) > _MOST_BARS else ""
    axes.set_title(f"Rows by class{more}")
    axes.set_xticks([])
    axes.set_xlabel("clients in the order of the Fiedler vector")


def _half_violin(axes: Axes, edges: Float64s, side: Literal["low", "high"], ink: str) -> None:
    """The density of misalignments, with their quartiles."""
    if len(edges) < 2 or np.ptp(edges) == 0:
        return
    powers = -edges / np.log(10)
    drawn: Any = axes.violinplot(powers, [0], side=side, widths=0.8, showextrema=False)
    drawn["bodies"][0].set(facecolor=ink, edgecolor="none", alpha=0.55)
    ends = (-0.2, 0.0) if side == "low" else (0.0, 0.2)
    axes.hlines(np.quantile(powers, (0.25, 0.5, 0.75)), *ends, color=INK, linewidth=(0.8, 1.6, 0.8))


def _density(axes: Axes, values: Float64s, ink: str) -> None:
    """A density with half the usual bandwidth, cut at the range of the data."""
    if len(values) < 2 or np.ptp(values) < 1e-9 * max(values.max(), 1.0):
        return
    kernel = gaussian_kde(values)
    kernel.set_bandwidth(_NARROW * kernel.factor)
    x = np.linspace(values.min(), values.max(), 200)
    axes.fill_between(x, kernel(x), color=ink, alpha=0.25, linewidth=0)
    axes.plot(x, kernel(x), color=ink, linewidth=1.4)
    axes.plot(values, np.zeros_like(values), "|", color=FAINT, markersize=6, clip_on=False)
