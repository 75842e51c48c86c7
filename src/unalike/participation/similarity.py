"""Which clients are alike, and how does a tree of them become m distributions?

Fraboni, Vidal, Kameni and Lorenzi ("Clustered Sampling: Low-Variance and Improved Representativity for
Clients Selection in Federated Learning", 2021) compare the clients' last updates g_i by their angle

    rho_ij = arccos( <g_i, g_j> / (|g_i| |g_j|) )

or by a distance, build Ward's tree, and cut it from the top into groups that fit into one of m stretches. The
heaviest groups open the stretches; the clients of the others fill the room that is left. Clients that are
longer than a stretch get whole ones first. All masses are whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from ..errors import ConfigError, unknown
from .base import Floats, Numbers
from .line import Line, overlaps

Updates = NDArray[np.float32]
LINKAGES = ("rows", "condensed")
FINE = 10**9
"""A group may exceed its stretch by one part in so many, so that rounded importances do not split groups that
fit; where samples are counted, that is less than one."""
BLOCK = 2**23
"""So many numbers are compared at a time, to bound the memory."""


def angles(some: Floats, others: Floats) -> Floats:
    """The angles between vectors; exactly zero for equal ones, and undefined for zeros.

    >>> angles(np.array([[1.0, 0.0]]), np.array([[0.0, 2.0], [3.0, 0.0]]))
    array([[1.57079633, 0.        ]])
    """
    chords = scipy.spatial.distance.cdist(_unit(some), _unit(others))
    return 2 * np.arcsin(np.minimum(chords / 2, 1.0))


def squared_distances(some: Floats, others: Floats) -> Floats:
    """Sums of squared differences."""
    return scipy.spatial.distance.cdist(some, others, "sqeuclidean")


def absolute_distances(some: Floats, others: Floats) -> Floats:
    """Sums of absolute differences."""
    return scipy.spatial.distance.cdist(some, others, "cityblock")


MEASURES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "arccos": angles,
    "l2": squared_distances,
    "l1": absolute_distances,
}


def check_measure(measure: str) -> str:
    """The measure's name in small letters, if there is one of that name."""
    if str(measure).lower() not in MEASURES:
        raise unknown("similarity measure", str(measure), MEASURES)
    return measure.lower()


def distance_rows(measure: str, updates: Updates, rows: Numbers, angle_to_zero: float = 0.0) -> Floats:
    """How far the updates of some rows are from all updates.

    A zero vector (a client never heard of) has no angle to others; `angle_to_zero` takes its place.
    """
    compare = MEASURES[check_measure(measure)]
    some = updates[rows].astype(np.float64)
    step = max(1, BLOCK // max(1, updates.shape[1]))
    blocks = (updates[k : k + step].astype(np.float64) for k in range(0, len(updates), step))
    found = np.concatenate([compare(some, block) for block in blocks], axis=1)
    if compare is angles:
        zero = np.logical_not(updates.any(axis=1))
        found = np.where(zero[rows][:, None] | zero, angle_to_zero, found)
        found[np.ix_(zero[rows], zero)] = 0.0
    return found


def distances(measure: str, updates: Updates, angle_to_zero: float = 0.0) -> Floats:
    """How far all updates are from each other.

    >>> distances("L1", np.array([[0, 0], [1, 2]], np.float32))
    array([[0., 3.],
           [3., 0.]])
    """
    return distance_rows(measure, updates, np.arange(len(updates)), angle_to_zero)


def similarity_tree(matrix: Floats, kind: str = "rows") -> Floats:
    """Ward's tree, in SciPy's form: of a distance matrix' `rows` as vectors, or of the distances as such."""
    if kind not in LINKAGES:
        raise unknown("linkage", kind, LINKAGES)
    if len(matrix) == 1:
        return np.zeros((0, 4))
    distance = scipy.spatial.distance
    pairs = distance.pdist(matrix) if kind == "rows" else distance.squareform(matrix, checks=False)
    return scipy.cluster.hierarchy.linkage(pairs, "ward")


def constrained_cut(tree: Floats, amounts: Numbers, limit: int) -> list[Numbers]:
    """The largest subtrees whose leaves together do not exceed a limit, without those that weigh nothing.

    >>> tree = similarity_tree(np.abs(np.subtract.outer([0, 1, 8, 9], [0, 1, 8, 9])).astype(float))
    >>> constrained_cut(tree, np.array([3, 2, 2, 2]), limit=5)
    [array([0, 1]), array([2, 3])]
    """
    if amounts.max() > limit:
        bad = int(amounts.argmax())
        raise ConfigError(f"client {bad} weighs {amounts[bad]}, more than the {limit} that a group may.")
    n, children = len(amounts), tree[:, :2].astype(np.int64).tolist()
    counts, mass = [1] * n + tree[:, 3].astype(np.int64).tolist(), amounts.tolist()
    for left, right in children:
        mass.append(mass[left] + mass[right])
    leaves = scipy.cluster.hierarchy.leaves_list(tree).astype(np.int64) if n > 1 else np.zeros(1, np.int64)
    groups, waiting = [], [(2 * n - 2, 0)]
    while waiting:
        node, start = waiting.pop()
        if mass[node] <= limit:
            groups.append(leaves[start : start + counts[node]])
        else:
            left, right = children[node - n]
            waiting += [(right, start + counts[left]), (left, start)]
    return [group for group in groups if amounts[group].any()]


def by_mass(groups: Sequence[Numbers], amounts: Numbers) -> list[Numbers]:
    """Groups from the heaviest to the lightest; of equal ones, that of the smallest client first."""
    return sorted(groups, key=lambda group: (-int(amounts[group].sum()), int(group.min())))


def split_oversized(amounts: Numbers, draws: int) -> tuple[Numbers, Numbers]:
    """How many whole stretches each client owns, and what it holds beside them."""
    return np.divmod(amounts, int(amounts.sum()) // draws)


def fill(groups: Sequence[Numbers], amounts: Numbers, draws: int) -> Line:
    """The line: whole stretches of single clients, then one per heaviest group, filled up with the others.

    `amounts` are m times the clients' sizes; `groups` were cut from what clients hold beside whole stretches.
    What does not fit into a group's stretch, because of rounding, is left to the other stretches.

    >>> fill([np.array([0]), np.array([1, 2])], np.array([6, 2, 4]), 2).matrix()
    array([[1.        , 0.        , 0.        ],
           [0.        , 0.33333333, 0.66666667]])
    """
    length = int(amounts.sum()) // draws
    owned, rest = split_oversized(amounts, draws)
    owners, left = np.repeat(np.arange(len(amounts)), owned), draws - int(owned.sum())
    ordered = by_mass(groups, rest)
    first, others = ordered[:left], _joined(ordered[left:])
    held, spilt, room = _fit(first, rest, length)
    others, waiting = np.append(others, np.flatnonzero(spilt)), np.append(rest[others], spilt[spilt > 0])
    filler, stretch, parts = overlaps(np.cumsum(waiting), np.cumsum(room))
    opened = np.repeat(np.arange(left), [len(group) for group in first])
    place = np.concatenate([np.full(len(owners), -1), opened, stretch])
    clients = np.concatenate([owners, _joined(first), others[filler]])
    pieces = np.concatenate([np.full(len(owners), length), held[_joined(first)], parts])
    order = np.argsort(place, kind="stable")
    order = order[pieces[order] > 0]
    return Line(clients[order], pieces[order], draws, len(amounts))


def _fit(groups: Sequence[Numbers], rest: Numbers, length: int) -> tuple[Numbers, Numbers, Numbers]:
    """What clients hold in their group's stretch, what spills over, and the room left in each stretch."""
    masses = np.array([rest[group].sum() for group in groups], np.int64)
    largest = np.array([group[rest[group].argmax()] for group in groups], np.int64)
    spilt = np.zeros_like(rest)
    spilt[largest] = np.maximum(masses - length, 0)
    return rest - spilt, spilt, np.maximum(length - masses, 0)


def _joined(groups: Sequence[Numbers]) -> Numbers:
    return np.concatenate([np.zeros(0, np.int64), *groups])


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)
