"""Are similar clients found, and do groups become valid distributions?"""

import math

import numpy as np
import pytest
from scipy.cluster.hierarchy import to_tree

from unalike.core.random import generator
from unalike.errors import ConfigError, UnalikeError
from unalike.participation.samplers import similarity
from unalike.participation.samplers.similarity import (
    by_mass,
    constrained_cut,
    distance_rows,
    distances,
    fill,
    similarity_tree,
    split_oversized,
)


def naive_distance(measure, a, b, angle_to_zero):
    a, b = a.astype(float), b.astype(float)
    if measure == "L1":
        return sum(abs(s - t) for s, t in zip(a, b, strict=True))
    if measure == "L2":
        return sum((s - t) ** 2 for s, t in zip(a, b, strict=True))
    lengths = math.hypot(*a) * math.hypot(*b)
    if lengths == 0:
        return angle_to_zero if a.any() or b.any() else 0.0
    return math.acos(min(1.0, max(-1.0, float(a @ b) / lengths)))


def naive_ward(points):
    """All merged sets of points, each merge adding least to the squared distances from the groups' means."""
    groups, merged = [frozenset([i]) for i in range(len(points))], set()

    def spread(group):
        inside = points[sorted(group)]
        return ((inside - inside.mean(axis=0)) ** 2).sum()

    while len(groups) > 1:
        pairs = [(a, b) for k, a in enumerate(groups) for b in groups[:k]]
        one, other = min(
            pairs, key=lambda pair: spread(pair[0] | pair[1]) - spread(pair[0]) - spread(pair[1])
        )
        groups = [group for group in groups if group not in (one, other)] + [one | other]
        merged.add(one | other)
    return merged


def naive_ward_of_distances(matrix):
    """The same by Ward's formula for the distance from a merged group."""
    near = {(frozenset([i]), frozenset([j])): matrix[i, j] ** 2 for i in range(len(matrix)) for j in range(i)}
    merged = set()
    while near:
        one, other = min(near, key=near.get)
        new, least = one | other, near[one, other]
        rest = {group for pair in near for group in pair} - {one, other}

        def squared(a, b, near=near):
            return near[a, b] if (a, b) in near else near[b, a]

        joined = {
            (new, group): (
                (len(one) + len(group)) * squared(one, group)
                + (len(other) + len(group)) * squared(other, group)
                - len(group) * least
            )
            / (len(new) + len(group))
            for group in rest
        }
        near = {pair: d for pair, d in near.items() if one not in pair and other not in pair} | joined
        merged.add(new)
    return merged


def subtrees(tree, leaves):
    sets = [frozenset([i]) for i in range(leaves)]
    for left, right in tree[:, :2].astype(int):
        sets.append(sets[left] | sets[right])
    return set(sets[leaves:])


def naive_cut(tree, amounts, limit):
    """The walk from the root, on SciPy's own tree nodes."""

    def visit(node):
        inside = node.pre_order()
        if sum(int(amounts[i]) for i in inside) <= limit:
            return [inside]
        return visit(node.left) + visit(node.right)

    return [group for group in visit(to_tree(tree)) if sum(int(amounts[i]) for i in group) > 0]


def naive_table(tree, sizes, draws):
    """Distributions by the published steps with Python integers: whole ones, seeds, and filling up."""
    n, total = len(sizes), sum(sizes)
    held, table, first = [draws * s for s in sizes], [[0] * len(sizes) for _ in range(draws)], 0
    for i in range(n):
        for _ in range(held[i] // total):
            table[first][i] = total
            first += 1
        held[i] %= total
    if first == draws:
        return table
    groups = naive_cut(tree, held, total)
    groups.sort(key=lambda group: (-sum(held[i] for i in group), min(group)))
    seeds, others = groups[: draws - first], groups[draws - first :]
    for k, group in enumerate(seeds, first):
        for i in group:
            table[k][i] += held[i]
    k = first
    for i in (i for group in others for i in group):
        left = held[i]
        while left > 0:
            while sum(table[k]) == total:
                k += 1
            put = min(total - sum(table[k]), left)
            table[k][i] += put
            left -= put
    return table


def random_updates(rng, n, d=4):
    updates = rng.normal(size=(n, d)).astype(np.float32)
    updates[rng.random(n) < 0.2] = 0
    if n > 3:
        updates[1], updates[2] = updates[0], 2 * updates[0]
    return updates


@pytest.mark.parametrize("angle_to_zero", [0.0, np.pi / 2])
@pytest.mark.parametrize("measure", ["arccos", "L2", "L1"])
def test_distances_equal_the_formulas_pair_by_pair(measure, angle_to_zero):
    updates = random_updates(generator(0, "distances"), 12)
    expected = [[naive_distance(measure, a, b, angle_to_zero) for a in updates] for b in updates]
    found = distances(measure, updates, angle_to_zero)
    assert np.allclose(found, expected, atol=1e-7)
    assert np.array_equal(found, found.T)
    assert not found.diagonal().any()
    assert np.isfinite(found).all()


def test_equal_and_parallel_updates_have_no_angle_and_opposite_ones_half_a_turn():
    one = np.array([0.1, 0.7, -0.3], np.float32)
    found = distances("arccos", np.stack([one, one, 4 * one, -one]))
    assert not found[:3, :3].any()
    assert np.allclose(found[3, :3], np.pi, atol=1e-7)


@pytest.mark.parametrize("measure", ["arccos", "l2", "l1"])
def test_a_row_has_the_same_bits_whether_computed_alone_in_blocks_or_with_the_others(measure, monkeypatch):
    updates = random_updates(generator(1, "rows"), 23, d=17)
    together = distances(measure, updates)
    alone = np.concatenate([distance_rows(measure, updates, np.array([i])) for i in range(23)])
    monkeypatch.setattr(similarity, "BLOCK", 60)
    in_blocks = distance_rows(measure, updates, np.array([4, 9]))
    assert np.array_equal(together, alone)
    assert np.array_equal(together[[4, 9]], in_blocks)


def test_the_trees_are_wards():
    rng = generator(2, "trees")
    for _ in range(10):
        points = rng.normal(size=(9, 3))
        matrix = np.linalg.norm(points[:, None] - points, axis=2) ** 1.5
        assert subtrees(similarity_tree(matrix, "rows"), 9) == naive_ward(matrix)
        assert subtrees(similarity_tree(matrix, "condensed"), 9) == naive_ward_of_distances(matrix)


def test_the_cut_is_the_walk_from_the_root():
    rng = generator(3, "cuts")
    for _ in range(100):
        n = int(rng.integers(2, 20))
        tree = similarity_tree(distances("L2", random_updates(rng, n)))
        amounts = rng.integers(0, 9, size=n)
        limit = int(rng.integers(max(amounts.max(), 1), 40))
        found = constrained_cut(tree, amounts, limit)
        assert [group.tolist() for group in found] == naive_cut(tree, amounts, limit)
        assert all(0 < amounts[group].sum() <= limit for group in found)


def test_a_client_above_the_limit_cannot_be_cut():
    tree = similarity_tree(np.zeros((3, 3)))
    with pytest.raises(ConfigError, match="client 1 weighs 9, more than the 8"):
        constrained_cut(tree, np.array([1, 9, 2]), 8)


def test_a_single_client_is_a_tree():
    tree = similarity_tree(np.zeros((1, 1)))
    assert [group.tolist() for group in constrained_cut(tree, np.array([5]), 5)] == [[0]]


def test_groups_of_equal_mass_go_by_their_smallest_client():
    groups = [np.array([5]), np.array([4, 1]), np.array([0, 2]), np.array([3])]
    ordered = by_mass(groups, np.array([2, 2, 2, 1, 2, 9]))
    assert [group.tolist() for group in ordered] == [[5], [0, 2], [4, 1], [3]]


def cases():
    """Sizes and draws: ordinary, oversized, a single draw, as many draws as clients, 7.5 shares, zeros."""
    rng = generator(4, "cases")
    for _ in range(60):
        n = int(rng.integers(2, 25))
        yield rng.integers(1, 1000, size=n), int(rng.integers(1, n + 1))
    for _ in range(30):
        n = int(rng.integers(2, 12))
        sizes = rng.integers(0, 60, size=n)
        sizes[rng.integers(n)] += int(rng.integers(1, 2000))
        yield sizes, int(rng.integers(1, 2 * n))
    yield np.array([75, 5, 5, 5, 10]), 10
    yield np.full(12, 7), 12
    yield np.full(12, 7), 1
    yield np.full(12, 7), 4
    yield np.array([0, 5, 0]), 3
    yield np.array([3]), 2


def test_distributions_equal_the_published_steps_and_are_valid_in_whole_numbers():
    rng = generator(5, "tables")
    for k, (sizes, draws) in enumerate(cases()):
        n = len(sizes)
        updates = np.zeros((n, 4), np.float32) if k % 5 == 0 else random_updates(rng, n)
        kind = ("rows", "condensed")[k % 2]
        tree = similarity_tree(distances("arccos", updates), kind) if n > 1 else None
        amounts = draws * sizes
        whole = similarity_tree(np.zeros((1, 1))) if tree is None else tree
        groups = constrained_cut(whole, split_oversized(amounts, draws)[1], int(sizes.sum()))
        line = fill(groups, amounts, draws)
        line.check(sizes)
        assert (line.table().sum(axis=1) == sizes.sum()).all()
        if tree is not None:
            assert line.table().toarray().tolist() == naive_table(tree, sizes.tolist(), draws)


def test_no_client_is_more_random_or_less_present_than_with_multinomial_draws():
    rng = generator(6, "orders")
    for sizes, draws in cases():
        n, p = len(sizes), sizes / sizes.sum()
        tree = similarity_tree(distances("L1", random_updates(rng, n)))
        groups = constrained_cut(tree, split_oversized(draws * sizes, draws)[1], int(sizes.sum()))
        found = fill(groups, draws * sizes, draws).statistics(p)
        assert found.unbiased
        assert (found.variance <= p * (1 - p) / draws + 1e-15).all()
        assert (found.inclusion >= 1 - (1 - p) ** draws - 1e-12).all()
        assert found.variance_of_sum == 0.0
        assert found.covariance().sum() == pytest.approx(0.0, abs=1e-13)


def test_unknown_measures_and_linkages_are_refused():
    with pytest.raises(UnalikeError, match="unknown similarity measure 'cosine'"):
        distances("cosine", np.zeros((2, 2), np.float32))
    with pytest.raises(UnalikeError, match="unknown linkage 'row'; did you mean 'rows'"):
        similarity_tree(np.zeros((2, 2)), "row")
