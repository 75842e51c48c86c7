"""Are the neighbors that are found the nearest ones, with ties in order?"""

import sys
import types

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.memorization import search_others
from unalike.memorization.neighbors import search


def naive(keys, queries, k):
    """One query and one key at a time, in double precision; ties by place."""
    rows, distances = [], []
    for query in queries.astype(np.float64):
        all_of_them = [float(np.sqrt(((query - key) ** 2).sum())) for key in keys.astype(np.float64)]
        order = sorted(range(len(keys)), key=lambda i: (all_of_them[i], i))[:k]
        rows.append(order)
        distances.append([all_of_them[i] for i in order])
    return np.array(distances), np.array(rows)


def random_case(seed):
    rng = np.random.default_rng(seed)
    rows, dimension, k = int(rng.integers(1, 60)), int(rng.integers(1, 9)), int(rng.integers(1, 70))
    grid = rng.random() < 0.5  # whole numbers make many exact ties
    draw = (lambda *s: rng.integers(-1, 2, s)) if grid else (lambda *s: rng.normal(size=s))
    return draw(rows, dimension).astype(np.float32), draw(7, dimension).astype(np.float32), k


class Flat:
    """What FAISS's flat index promises, with ties in an order of its own."""

    def __init__(self, dimension):
        self.dimension = dimension

    def add(self, keys):
        assert keys.flags.c_contiguous
        assert keys.dtype == np.float32
        assert keys.shape[1] == self.dimension
        self.keys = keys

    def search(self, queries, k):
        assert k <= len(self.keys)
        squares = ((queries[:, None] - self.keys) ** 2).sum(axis=2)
        order = np.argsort(squares[:, ::-1], axis=1, kind="stable")[:, :k]
        rows = len(self.keys) - 1 - order
        return np.take_along_axis(squares, rows, axis=1), rows


@pytest.fixture
def pretended_faiss(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", types.SimpleNamespace(IndexFlatL2=Flat))


@pytest.mark.parametrize("seed", range(40))
def test_the_nearest_are_found_with_ties_in_order(seed):
    keys, queries, k = random_case(seed)
    distances, rows = naive(keys, queries, k)
    found = search(keys, queries, k, "exact")
    assert np.array_equal(found.rows, rows)
    assert np.allclose(found.distances, distances, atol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_an_index_with_ties_in_another_order_gives_the_same_answer(seed, pretended_faiss):
    keys, queries, k = random_case(seed)
    exact, indexed = (search(keys, queries, k, method) for method in ("exact", "faiss"))
    assert np.array_equal(exact.rows, indexed.rows)
    assert np.array_equal(exact.distances, indexed.distances)


def test_faiss_itself_gives_the_same_answer():
    pytest.importorskip("faiss")
    for seed in range(20):
        keys, queries, k = random_case(seed)
        exact, indexed = (search(keys, queries, k, method) for method in ("exact", "faiss"))
        assert np.array_equal(exact.rows, indexed.rows)
        assert np.array_equal(exact.distances, indexed.distances)


def test_many_duplicates_come_in_order_at_distance_zero():
    keys = np.tile(np.float32([[1e3, 2e3, 3e3]]), (500, 1))
    found = search(keys, keys[:3], 10)
    assert not found.distances.any()
    assert (found.rows == np.arange(10)).all()


def test_near_duplicates_far_from_the_origin_are_told_apart():
    # Here |q|^2 + |x|^2 - 2 <q, x> alone has no correct digit.
    keys = np.float32(1e4) + np.arange(64, dtype=np.float32)[:, None] * np.float32(2**-7)
    found = search(keys, keys[20:21] + np.float32(2**-9), 3)
    assert set(found.rows[0].tolist()) == {19, 20, 21}
    assert found.distances[0, 0] == pytest.approx(2**-9, rel=0.6)


def test_blocks_do_not_change_the_answer(monkeypatch):
    rng = np.random.default_rng(1)
    keys, queries = (rng.normal(size=(n, 4)).astype(np.float32) for n in (50, 30))
    whole = search(keys, queries, 5)
    monkeypatch.setattr(sys.modules[search.__module__], "BLOCK_NUMBERS", 60)
    assert np.array_equal(search(keys, queries, 5).rows, whole.rows)


@pytest.mark.parametrize("seed", range(10))
def test_others_are_the_nearest_without_oneself(seed):
    keys, _, k = random_case(seed)
    found = search_others(keys, k)
    for i in range(len(keys)):
        rest = np.delete(np.arange(len(keys)), i)
        _, rows = naive(keys[rest], keys[i : i + 1], k)
        assert found.rows[i].tolist() == (rest[rows[0]].tolist() if len(rest) else [])


def test_others_among_more_duplicates_than_neighbors():
    found = search_others(np.zeros((30, 2), np.float32), 3)
    assert found.rows.shape == (30, 3)
    assert not (found.rows == np.arange(30)[:, None]).any()


def test_nothing_to_find_and_nobody_who_asks():
    assert search(np.zeros((0, 2)), np.zeros((3, 2)), 5).rows.shape == (3, 0)
    assert search(np.zeros((4, 2)), np.zeros((0, 2)), 5).rows.shape == (0, 4)
    assert search_others(np.zeros((1, 2)), 5).rows.shape == (1, 0)
    assert search_others(np.zeros((0, 2)), 5).rows.shape[0] == 0


def test_mistakes_are_named():
    with pytest.raises(ConfigError, match="k must be at least 1"):
        search(np.zeros((1, 1)), np.zeros((1, 1)), 0)
    with pytest.raises(ConfigError, match="did you mean 'exact'"):
        search(np.zeros((1, 1)), np.zeros((1, 1)), 1, "exactly")


def test_an_index_that_is_not_installed_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ConfigError, match=r"\.\[faiss\]"):
        search(np.zeros((1, 1)), np.zeros((1, 1)), 1, "faiss")


def test_large_stores_are_searched_exactly_where_there_is_no_index(monkeypatch):
    monkeypatch.setattr(sys.modules[search.__module__], "LARGE", 1)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert search(np.zeros((2, 1)), np.zeros((1, 1)), 1).rows.tolist() == [[0]]
