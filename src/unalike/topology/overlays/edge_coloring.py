"""Edge coloring: decomposing a graph into few matchings (Misra, Gries, A Constructive Proof of Vizing's
Theorem, 1992).

Edges of one color share no silo, so a color is a set of pairs that can talk at the same time. One more
color than the largest degree always suffices; where an edge has no color free at both ends, a fan of its
neighbors is recolored around one end and a path of two alternating colors is inverted.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ...typing import Int64s
from ..graphs import Graph


def matchings(graph: Graph) -> list[Int64s]:
    """The edges of a graph in at most (largest degree + 1) sets that are matchings; a complete graph takes
    the rounds of a tournament, which are as few as can be.

    >>> [pairs.tolist() for pairs in matchings(~np.eye(3, dtype=bool))]
    [[[1, 2]], [[0, 2]], [[0, 1]]]
    """
    if len(graph) > 1 and graph.sum() == len(graph) * (len(graph) - 1):
        return _tournament(len(graph))
    coloring = _Coloring(graph)
    for u, v in np.argwhere(np.triu(graph, 1)).tolist():
        coloring.add(u, v)
    return coloring.classes()


def _tournament(size: int) -> list[Int64s]:
    """Everyone meets everyone: one silo (or none, for odd numbers) stands still and the others rotate."""
    circle = size - 1 if size % 2 == 0 else size
    rounds = []
    for turn in range(circle):
        pairs = [((turn + k) % circle, (turn - k) % circle) for k in range(1, (circle + 1) // 2)]
        pairs += [(turn, size - 1)] if size % 2 == 0 else []
        rounds.append(np.sort(np.array(sorted(tuple(sorted(pair)) for pair in pairs)), axis=1))
    return rounds


class _Coloring:
    """Colors of edges so far; `at[v][c]` is the neighbor that v meets in color c."""

    def __init__(self, graph: Graph) -> None:
        self.count = int(graph.sum(axis=1).max()) + 1 if len(graph) else 1
        self.at: list[dict[int, int]] = [{} for _ in range(len(graph))]
        self.color: dict[tuple[int, int], int] = {}

    def add(self, u: int, v: int) -> None:
        """Color one more edge."""
        fan = self._fan(u, v)
        c, d = self._free(u), self._free(fan[-1])
        self._invert(u, c, d)
        last = next(k for k in range(len(fan)) if d not in self.at[fan[k]] and self._is_fan(u, fan[: k + 1]))
        for k in range(last):
            following = self._take(u, fan[k + 1])
            self._paint(u, fan[k], following)
        self._paint(u, fan[last], d)

    def classes(self) -> list[Int64s]:
        """The edges of each color that is used."""
        sets: dict[int, list[tuple[int, int]]] = {}
        for edge, color in sorted(self.color.items()):
            sets.setdefault(color, []).append(edge)
        return [np.array(sets[color]) for color in sorted(sets)]

    def _free(self, v: int) -> int:
        return next(c for c in range(self.count) if c not in self.at[v])

    def _fan(self, u: int, v: int) -> list[int]:
        """Neighbors of u, each joined in a color that is free at the one before."""
        fan, seen = [v], {v}
        while True:
            onward = (w for c, w in self.at[u].items() if w not in seen and c not in self.at[fan[-1]])
            following = next(onward, None)
            if following is None:
                return fan
            fan.append(following)
            seen.add(following)

    def _is_fan(self, u: int, fan: list[int]) -> bool:
        return all(self._of(u, w) not in self.at[v] for v, w in pairwise(fan))

    def _invert(self, u: int, c: int, d: int) -> None:
        """Swap colors c and d along the path from u that starts with d."""
        path, color = [u], d
        while color in self.at[path[-1]]:
            path.append(self.at[path[-1]][color])
            color = c if color == d else d
        edges = list(pairwise(path))
        colors = [self._take(a, b) for a, b in edges]
        for (a, b), old in zip(edges, colors, strict=True):
            self._paint(a, b, c if old == d else d)

    def _of(self, a: int, b: int) -> int:
        return self.color[min(a, b), max(a, b)]

    def _take(self, a: int, b: int) -> int:
        color = self.color.pop((min(a, b), max(a, b)))
        del self.at[a][color], self.at[b][color]
        return color

    def _paint(self, a: int, b: int, color: int) -> None:
        self.color[min(a, b), max(a, b)] = color
        self.at[a][color], self.at[b][color] = b, a
