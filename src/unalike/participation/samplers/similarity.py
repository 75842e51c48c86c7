"""Similarity trees of clients, and the m distributions that clustered sampling makes of them.

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

from ...errors import ConfigError, unknown
from ...typing import Bools, ClientIds, Float32s, Float64s
from .distributions import ClusterDistributions, overlaps

Updates = Float32s
LINKAGES = ("rows", "condensed")
METHODS = ("ward", "average", "complete", "single")
"""How far two groups are apart: by Ward's criterion (as published), by the mean, the largest or the least
distance between their members."""
FINE = 10**9
"""A group may exceed its stretch by one part in so many, so that rounded importances do not split groups that
fit; where samples are counted, that is less than one."""
BLOCK = 2**23
"""So many numbers are compared at a time, to bound the memory."""


def angles(some: Float64s, others: Float64s) -> Float64s:
    """The angles between vectors; exactly zero for equal ones, and undefined for zeros.

    >>> angles(np.array([[1.0, 0.0]]), np.array([[0.0, 2.0], [3.0, 0.0]]))
    array([[1.57079633, 0.        ]])
    """
    chords = scipy.spatial.distance.cdist(_unit(some), _unit(others))
    return 2 * np.arcsin(np.minimum(chords / 2, 1.0))


def squared_distances(some: Float64s, others: Float64s) -> Float64s:
    """Sums of squared differences."""
    return scipy.spatial.distance.cdist(some, others, "sqeuclidean")


def absolute_distances(some: Float64s, others: Float64s) -> Float64s:
    """Sums of absolute differences."""
    return scipy.spatial.distance.cdist(some, others, "cityblock")


MEASURES: dict[str, Callable[[Float64s, Float64s], Float64s]] = {
    "arccos": angles,
    "l2": squared_distances,
    "l1": absolute_distances,
}


def check_measure(measure: str) -> str:
    """The measure's name in small letters, if there is one of that name."""
    if str(measure).lower() not in MEASURES:
        raise unknown("similarity measure", str(measure), MEASURES)
    return measure.lower()


def distance_rows(measure: str, updates: Updates, rows: ClientIds, angle_to_zero: float = 0.0) -> Float64s:
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


def distances(measure: str, updates: Updates, angle_to_zero: float = 0.0) -> Float64s:
    """How far all updates are from each other.

    >>> distances("L1", np.array([[0, 0], [1, 2]], np.float32))
    array([[0., 3.],
           [3., 0.]])
    """
    return distance_rows(measure, updates, np.arange(len(updates)), angle_to_zero)


def similarity_tree(matrix: Float64s, kind: str = "rows", method: str = "ward") -> Float64s:
    """A hierarchical clustering, in SciPy's form.

    Args:
        matrix: the clients' distances.
        kind: whether the matrix' `rows` are compared as vectors, or the `condensed` distances are taken.
        method: how far two groups are apart, one of :data:`METHODS`.
    """
    if kind not in LINKAGES:
        raise unknown("linkage", kind, LINKAGES)
    check_method(method)
    if len(matrix) == 1:
        return np.zeros((0, 4))
    distance = scipy.spatial.distance
    pairs = distance.pdist(matrix) if kind == "rows" else distance.squareform(matrix, checks=False)
    return scipy.cluster.hierarchy.linkage(pairs, method)


def check_method(method: str) -> None:
    """Raise if there is no linkage method of that name."""
    if method not in METHODS:
        raise unknown("linkage method", method, METHODS)


def row_squares(matrix: Float64s, copies: Float64s) -> Float64s:
    """The squared distances between the rows of a distance matrix whose columns stand for so many clients."""
    rows = (matrix - matrix.mean(axis=0)) * np.sqrt(copies)
    lengths = np.einsum("ij,ij->i", rows, rows)
    squares = lengths[:, None] + lengths - 2 * rows @ rows.T
    np.fill_diagonal(squares, 0.0)
    return np.maximum(squares, 0.0)


def tree_of_places(squares: Float64s, sizes: ClientIds, method: str = "ward") -> Float64s:
    """A hierarchical clustering, in SciPy's form, of leaves that stand for several clients at the same place.

    Nearest neighbors are followed until two are each other's (Murtagh, "A Survey of Recent Advances in
    Hierarchical Clustering Algorithms", 1983).

    >>> squares = np.array([[0.0, 1.0, 81.0], [1.0, 0.0, 64.0], [81.0, 64.0, 0.0]])
    >>> tree = tree_of_places(squares, np.array([1, 1, 5]))
    >>> tree[:, :2].astype(int).tolist(), tree[:, 3].tolist()
    ([[0, 1], [2, 3]], [2.0, 3.0])

    Args:
        squares: the squared distances between places, which are overwritten.
        sizes: how many clients are at each place.
        method: how far two groups are apart, one of :data:`METHODS`.
    """
    check_method(method)
    n, weight = len(sizes), sizes.astype(np.float64)
    if method == "ward":
        squares *= 2 * np.outer(weight, weight) / np.add.outer(weight, weight)
    np.fill_diagonal(squares, np.inf)
    alive = np.ones(n, np.bool_)
    chain: list[int] = []
    merges: list[tuple[int, int, float]] = []
    while len(merges) < n - 1:
        if not chain:
            chain.append(int(np.argmax(alive)))
        last = chain[-1]
        nearest = int(np.argmin(squares[last]))
        if len(chain) > 1 and squares[last, chain[-2]] <= squares[last, nearest]:
            a, b = chain.pop(), chain.pop()
            merges.append((min(a, b), max(a, b), float(np.sqrt(squares[a, b]))))
            _join(squares, weight, alive, a, b, method)
        else:
            chain.append(nearest)
    return _in_order(merges, n)


def _join(squares: Float64s, weight: Float64s, alive: Bools, a: int, b: int, method: str) -> None:
    """The second becomes the two together, by the formula of Lance and Williams; the first is gone."""
    both = weight[a] + weight[b]
    if method == "ward":
        merged = (weight + weight[a]) * squares[a] + (weight + weight[b]) * squares[b]
        merged = (merged - weight * squares[a, b]) / (weight + both)
    elif method == "average":
        # The distances are averaged, not their squares.
        merged = ((weight[a] * np.sqrt(squares[a]) + weight[b] * np.sqrt(squares[b])) / both) ** 2
    else:
        merged = (np.maximum if method == "complete" else np.minimum)(squares[a], squares[b])
    alive[a] = False
    merged[~alive] = np.inf
    merged[b] = np.inf
    squares[b], squares[:, b] = merged, merged
    squares[a], squares[:, a] = np.inf, np.inf
    weight[b] = both


def _in_order(merges: list[tuple[int, int, float]], n: int) -> Float64s:
    """Merges from the lowest to the highest, with the numbers that SciPy gives to what was merged."""
    name, count, tree = list(range(n)), dict.fromkeys(range(n), 1), np.zeros((len(merges), 4))
    leader = list(range(n))

    def found(place: int) -> int:
        while leader[place] != place:
            leader[place] = leader[leader[place]]
            place = leader[place]
        return place

    for k, (a, b, height) in enumerate(sorted(merges, key=lambda merge: merge[2])):
        one, other = found(a), found(b)
        left, right = sorted((name[one], name[other]))
        count[n + k] = count[left] + count[right]
        tree[k] = left, right, height, count[n + k]
        leader[one], name[other] = other, n + k
    return tree


def split_into(members: ClientIds, amounts: ClientIds, limit: int) -> list[ClientIds]:
    """Neighbors in a list, as many together as do not exceed a limit.

    >>> split_into(np.array([4, 5, 6]), np.array([2, 2, 3]), limit=4)
    [array([4, 5]), array([6])]
    """
    groups, first, ends = [], 0, np.cumsum(amounts)
    while first < len(members):
        begin = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, begin + limit, side="right")), first + 1)
        groups.append(members[first:last])
        first = last
    return groups


def constrained_cut(tree: Float64s, amounts: ClientIds, limit: int) -> list[ClientIds]:
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


def by_mass(groups: Sequence[ClientIds], amounts: ClientIds) -> list[ClientIds]:
    """Groups from the heaviest to the lightest; of equal ones, that of the smallest client first."""
    return sorted(groups, key=lambda group: (-int(amounts[group].sum()), int(group.min())))


def split_oversized(amounts: ClientIds, draws: int) -> tuple[ClientIds, ClientIds]:
    """How many whole stretches each client owns, and what it holds beside them."""
    return np.divmod(amounts, int(amounts.sum()) // draws)


def fill(groups: Sequence[ClientIds], amounts: ClientIds, draws: int) -> ClusterDistributions:
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
    first, others = ordered[:left], _join_groups(ordered[left:])
    held, spilt, room = _fit(first, rest, length)
    others, waiting = np.append(others, np.flatnonzero(spilt)), np.append(rest[others], spilt[spilt > 0])
    filler, stretch, parts = overlaps(np.cumsum(waiting), np.cumsum(room))
    opened = np.repeat(np.arange(left), [len(group) for group in first])
    place = np.concatenate([np.full(len(owners), -1), opened, stretch])
    clients = np.concatenate([owners, _join_groups(first), others[filler]])
    pieces = np.concatenate([np.full(len(owners), length), held[_join_groups(first)], parts])
    order = np.argsort(place, kind="stable")
    order = order[pieces[order] > 0]
    return ClusterDistributions(clients[order], pieces[order], draws, len(amounts))


def _fit(groups: Sequence[ClientIds], rest: ClientIds, length: int) -> tuple[ClientIds, ClientIds, ClientIds]:
    """What clients hold in their group's stretch, what spills over, and the room left in each stretch."""
    masses = np.array([rest[group].sum() for group in groups], np.int64)
    largest = np.array([group[rest[group].argmax()] for group in groups], np.int64)
    spilt = np.zeros_like(rest)
    spilt[largest] = np.maximum(masses - length, 0)
    return rest - spilt, spilt, np.maximum(length - masses, 0)


def _join_groups(groups: Sequence[ClientIds]) -> ClientIds:
    return np.concatenate([np.zeros(0, np.int64), *groups])


def _unit(vectors: Float64s) -> Float64s:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)
