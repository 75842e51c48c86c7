"""Figures of networks: silos, overlays and the critical circuit."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from ..core.figure_style import FAINT, MUTED, PALETTE, figure, with_figure_style
from ..topology import Circuit, Connectivity
from ..topology.graphs import Graph
from ..typing import Float64s

_MOST_NAMES = 45


@with_figure_style
def network_map(
    connectivity: Connectivity, arcs: Graph, circuit: Circuit | None = None, title: str = ""
) -> Figure:
    """The map with its links in gray, the overlay in blue, and the bottleneck circuit in orange.

    Arrows show messages that go one way only. Without coordinates, silos are placed by their latencies.
    """
    picture = figure(8.4, 4.6)
    axes = picture.subplots()
    places, labels = positions(connectivity)
    if connectivity.links is not None and not connectivity.links.all(where=~np.eye(len(places), dtype=bool)):
        _lines(axes, places, connectivity.links, FAINT, 1.0)
    _lines(axes, places, arcs & arcs.T, PALETTE[0], 1.3)
    _arrows(axes, places, arcs & ~arcs.T, PALETTE[0], 1.3)
    if circuit is not None:
        _arrows(axes, places, _circuit_arcs(circuit, len(places)), PALETTE[1], 2.2)
    axes.scatter(places[:, 0], places[:, 1], s=18, color=MUTED, zorder=3)
    for name, (x, y) in zip(connectivity.names if len(places) <= _MOST_NAMES else (), places, strict=False):
        axes.annotate(name, (x, y), xytext=(3, 3), textcoords="offset points", fontsize=7.5, color=MUTED)
    axes.set_title(title)
    axes.set_xlabel(labels)
    axes.spines[:].set_visible(False)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.margins(0.08)
    return picture


def positions(connectivity: Connectivity) -> tuple[Float64s, str]:
    """Where silos are drawn, and in which words."""
    if connectivity.coordinates is not None and np.isfinite(connectivity.coordinates).all():
        latitude, longitude = connectivity.coordinates.T
        return np.stack(
            [longitude, latitude], axis=1
        ), "blue: overlay; orange: the circuit that sets the pace"
    return classical_scaling(connectivity), "placed by latency; blue: overlay; orange: what sets the pace"


def classical_scaling(connectivity: Connectivity) -> Float64s:
    """Classical scaling: points in the plane whose distances resemble the latencies."""
    latency = np.where(np.isfinite(connectivity.latency), connectivity.latency, np.nan)
    far = np.nanmax(latency, initial=1.0)
    squares = np.nan_to_num((latency + latency.T) / 2, nan=far) ** 2
    np.fill_diagonal(squares, 0.0)
    middle = np.eye(len(squares)) - 1 / len(squares)
    values, vectors = np.linalg.eigh(-middle @ squares @ middle / 2)
    return np.asarray(vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0.0)))


def _lines(axes: Axes, places: Float64s, pairs: Graph, color: str, width: float) -> None:
    ends = np.argwhere(np.triu(pairs | pairs.T, 1))
    axes.add_collection(LineCollection(list(places[ends]), colors=color, linewidths=width, zorder=1))


def _arrows(axes: Axes, places: Float64s, pairs: Graph, color: str, width: float) -> None:
    for sender, receiver in np.argwhere(pairs):
        axes.annotate(
            "",
            xy=places[receiver],
            xytext=places[sender],
            arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": width, "shrinkA": 3, "shrinkB": 3},
            zorder=2,
        )


def _circuit_arcs(circuit: Circuit, size: int) -> Graph:
    arcs = np.zeros((size, size), bool)
    silos = circuit.silos
    for sender, receiver in zip(silos, (*silos[1:], silos[0]), strict=True):
        arcs[sender, receiver] = sender != receiver
    return arcs
