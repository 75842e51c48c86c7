"""The underlay network interface: links between silos.

An underlay is a map: silos with names, perhaps coordinates, and links with a length in kilometers. Packets
take the shortest way by kilometers, and among equally short ways the one over the fewest links. Designers of
overlays never see the map; they see what can be measured between pairs, which :mod:`.connectivity` derives.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy

from ...core.registry import Registry
from ...core.spec import Spec
from ...core.text_files import read_text
from ...data.sources.files import VARIABLE, local
from ...errors import ConfigError, DataError
from ...typing import Float64s, Int64s
from ..graphs import Graph
from .gml import Block, parse_gml

MOST_NODES = 5_000
"""Of a map: ways between all pairs of more would take gigabytes."""
MILLIMETER = 1e-6
"""Every link counts as so many km more when ways are sought, so that fewer links break ties."""
underlay_registry: Registry[Underlay] = Registry("underlay", "underlays")


class Routes(NamedTuple):
    """What the ways between all pairs of silos are like."""

    km: Float64s
    hops: Int64s
    narrowest: Float64s
    """The smallest capacity on the way, in bit/s; infinite where the map has no capacities."""


@dataclass(frozen=True, eq=False)
class Underlay:
    """A map of silos and links.

    >>> line = Underlay(("a", "b", "c"), np.array([[0, 1], [1, 2]]), np.array([100.0, 50.0]))
    >>> float(line.routes.km[0, 2]), int(line.routes.hops[0, 2])
    (150.0, 2)
    """

    names: tuple[str, ...]
    links: Int64s
    """Pairs of silos, one row per link."""
    km: Float64s
    capacity: Float64s | None = None
    """In bit/s, per link."""
    coordinates: Float64s | None = field(default=None, repr=False)
    """Latitude and longitude in degrees, per silo; NaN where unknown."""
    direct: bool = False
    """Every pair has a link and no detour is shorter, so that ways need not be sought."""

    def __post_init__(self) -> None:
        check_underlay(self)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def graph(self) -> Graph:
        """Who is linked with whom."""
        table = np.zeros((len(self), len(self)), bool)
        table[self.links[:, 0], self.links[:, 1]] = True
        return table | table.T

    @cached_property
    def routes(self) -> Routes:
        """The shortest way between every pair of silos."""
        return _routes(self)


def check_underlay(underlay: Underlay) -> None:
    """A `DataError` where the map cannot carry messages between all silos."""
    names, links = underlay.names, underlay.links
    if len(names) < 2:
        raise DataError(f"an underlay needs at least 2 silos, but there are {len(names)}.")
    ends = np.sort(links.reshape(-1, 2), axis=1)
    if (loops := np.flatnonzero(ends[:, 0] == ends[:, 1])).size:
        raise DataError(f"silo {names[ends[loops[0], 0]]!r} is linked with itself.")
    pairs, count = np.unique(ends, axis=0, return_counts=True)
    if (count > 1).any():
        a, b = pairs[np.argmax(count > 1)]
        raise DataError(f"silos {names[a]!r} and {names[b]!r} are linked twice; a map has one link per pair.")
    _check_figures(underlay, "km", underlay.km, underlay.km >= 0, "not negative")
    if underlay.capacity is not None:
        _check_figures(underlay, "capacity", underlay.capacity, underlay.capacity > 0, "positive")
    _check_connected(underlay)


def _check_figures(underlay: Underlay, what: str, figures: Float64s, fine: Graph, wanted: str) -> None:
    if len(figures) != len(underlay.links):
        raise DataError(f"there are {len(underlay.links)} links but {len(figures)} values of {what}.")
    wrong = ~fine | np.isnan(figures) | (np.isinf(figures) if what == "km" else False)
    if wrong.any():
        a, b = underlay.links[np.argmax(wrong)]
        raise DataError(
            f"the link {underlay.names[a]!r} - {underlay.names[b]!r} has {what} "
            f"{figures[np.argmax(wrong)]:g}; it must be a number that is {wanted}."
        )


def _check_connected(underlay: Underlay) -> None:
    if underlay.direct:
        return
    parts, label = scipy.sparse.csgraph.connected_components(
        _sparse(underlay, np.ones(len(underlay.links))), directed=False
    )
    if parts > 1:
        groups = [[underlay.names[i] for i in np.flatnonzero(label == part)] for part in range(min(parts, 3))]
        words = "; ".join(", ".join(group[:4]) + (", ..." if len(group) > 4 else "") for group in groups)
        raise DataError(f"the underlay is not connected, it has {parts} parts: {words}.")


def _routes(underlay: Underlay) -> Routes:
    size, narrow = len(underlay), underlay.capacity
    a, b = underlay.links.T
    km, wide = np.zeros((size, size)), np.full((size, size), np.inf)
    km[a, b] = km[b, a] = underlay.km
    if narrow is not None:
        wide[a, b] = wide[b, a] = narrow
    if underlay.direct:
        return Routes(km, np.ones((size, size), np.int64) - np.eye(size, dtype=np.int64), wide)
    far, before = scipy.sparse.csgraph.dijkstra(
        _sparse(underlay, underlay.km + MILLIMETER), return_predecessors=True
    )
    return _follow(np.argsort(far, axis=1, kind="stable"), before, km, wide)


def _follow(order: Int64s, before: Int64s, km: Float64s, wide: Float64s) -> Routes:
    """Add up links along all ways, nearest silos first, all sources at once."""
    total, hops = np.zeros_like(km), np.zeros(km.shape, np.int64)
    narrow = np.full_like(km, np.inf)
    source = np.arange(len(km))
    for rank in range(1, len(km)):
        here = order[:, rank]
        last = before[source, here]
        total[source, here] = total[source, last] + km[last, here]
        hops[source, here] = hops[source, last] + 1
        narrow[source, here] = np.minimum(narrow[source, last], wide[last, here])
    # Ways there and back may differ where several are equally good; both directions see the worse one.
    return Routes((total + total.T) / 2, np.maximum(hops, hops.T), np.minimum(narrow, narrow.T))


def _sparse(underlay: Underlay, values: Float64s) -> scipy.sparse.csr_array:
    a, b = underlay.links.T
    both = (np.concatenate([a, b]), np.concatenate([b, a]))
    return scipy.sparse.csr_array(
        (np.concatenate([values, values]), both), shape=(len(underlay), len(underlay))
    )


def underlay_of(given: str | Path | Underlay, seed: int = 0) -> Underlay:
    """A map by name (`gaia`, `geometric:50`), or from a GML file."""
    if isinstance(given, Underlay):
        return given
    text = str(given)
    if Spec.parse(text) not in underlay_registry and (text.endswith(".gml") or Path(text).is_file()):
        return read_underlay(Path(text))
    return underlay_registry.make(text, seed=seed)


def load_stored_underlay(file: str) -> Underlay:
    """A map from the folder that UNALIKE_DATA names, or its sub-folder `networks`."""
    path = local(f"networks/{file}") or local(file)
    if path is None:
        raise DataError(
            f"the map {file} was not found; set {VARIABLE} to a folder that holds it or networks/{file}."
        )
    return read_underlay(path)


def read_underlay(path: Path) -> Underlay:
    """A map from a GML file: nodes with an id (and label, Latitude, Longitude), edges with source, target and
    distance in km (and capacity in bit/s)."""
    try:
        return _from_gml(parse_gml(read_text(path, "map", "nodes and edges")).block("graph"))
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from None
    except ConfigError as error:
        raise DataError(str(error)) from None


def _from_gml(graph: Block) -> Underlay:
    nodes, edges = graph.blocks("node"), graph.blocks("edge")
    if len(nodes) > MOST_NODES:
        raise DataError(
            f"the map has {len(nodes):,} nodes; ways between all pairs are computed, for at most "
            f"{MOST_NODES:,}. Keep the nodes that are silos and those between them."
        )
    number: dict[object, int] = {}
    for node in nodes:
        if (key := node.get("id")) is None or key in number:
            raise DataError(f"node number {len(number)} has no id of its own (its id is {key!r}).")
        number[key] = len(number)
    links = np.array([_ends(edge, number) for edge in edges], np.int64).reshape(-1, 2)
    km = np.array([_distance(edge) for edge in edges])
    widths = [edge.number("capacity") for edge in edges]
    capacity = None if not widths or None in widths else np.array(widths, np.float64)
    places = np.array([[_angle(node, "latitude"), _angle(node, "longitude")] for node in nodes])
    known = places if len(places) and np.isfinite(places).any() else None
    return Underlay(_unique_names(nodes), links, km, capacity, known)


def _ends(edge: Block, number: dict[object, int]) -> tuple[int, int]:
    for side in ("source", "target"):
        if edge.get(side) not in number:
            raise DataError(f"an edge has the {side} {edge.get(side)!r}, which is the id of no node.")
    return number[edge.get("source")], number[edge.get("target")]


def _distance(edge: Block) -> float:
    distance = edge.number("distance")
    if distance is None:
        raise DataError(
            f"the edge {edge.get('source')} - {edge.get('target')} has no distance; it must be a number (km)."
        )
    return distance


def _angle(node: Block, name: str) -> float:
    value = node.number(name)
    return np.nan if value is None else value


def _unique_names(nodes: list[Block]) -> tuple[str, ...]:
    """Labels, with the id behind those that several nodes share."""
    labels = [
        str(node.get("id") if node.get("label") is None else node.get("label")).strip() for node in nodes
    ]
    shared = {label for label, count in Counter(labels).items() if count > 1}
    return tuple(
        f"{label} ({node.get('id')})" if label in shared or not label else label
        for label, node in zip(labels, nodes, strict=True)
    )
