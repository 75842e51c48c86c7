"""Are groups by size what they should be, to the last unit?"""

from math import comb

import numpy as np
import pytest

from unalike.core.random import generator
from unalike.participation import Full, Multinomial, RoundContext
from unalike.participation.samplers.clustered_size import ClusteredBySize

from .test_clustered import expected_classes

UNEVEN = np.repeat([100, 250, 500, 750, 1000], [10, 30, 30, 20, 10])


def naive_table(sizes, order, draws):
    """Distributions filled one after the other with Python integers."""
    total = sum(sizes)
    table, k, filled = [[0] * len(sizes) for _ in range(draws)], 0, 0
    for i in order:
        need = draws * sizes[i]
        while need > 0:
            put = min(total - filled, need)
            table[k][i] += put
            need -= put
            filled += put
            if filled == total:
                k, filled = k + 1, 0
    assert (k, filled) == (draws, 0)
    return table


def instances():
    """Random sizes, among them one client with more than 1/m, as many draws as clients, and a single draw."""
    rng = generator(0, "sizes")
    for k in range(150):
        n = int(rng.integers(1, 40))
        sizes = rng.integers(1, 500, size=n)
        if k % 3 == 0:
            sizes[rng.integers(n)] += int(rng.integers(1, 50_000))
        if k % 4 == 0:
            sizes = np.minimum(sizes, 3)  # many are equal
        yield sizes, (n if k % 5 == 0 else 1 if k % 5 == 1 else int(rng.integers(1, n + 1)))
    yield np.array([75, 5, 5, 5, 10]), 10
    yield np.array([0, 4, 0, 4]), 2


def test_groups_by_size_equal_the_loop_over_clients_and_are_valid_in_whole_numbers():
    for sizes, m in instances():
        sampler = ClusteredBySize(per_round=m, sizes=sizes, seed=3)
        line = sampler.line(sizes / sizes.sum())
        line.check(sizes)
        assert (np.diff(sizes[line.clients]) <= 0).all()
        table = line.table().toarray()
        assert table.tolist() == naive_table(sizes.tolist(), line.clients.tolist(), m)
        assert ((table > 0).sum(axis=0) <= m * sizes // sizes.sum() + 2).all()


def test_no_client_is_more_random_or_less_present_than_with_multinomial_draws():
    for sizes, m in instances():
        p = sizes / sizes.sum()
        found = ClusteredBySize(per_round=m, sizes=sizes).statistics(p)
        multinomial = Multinomial(per_round=m).statistics(p)
        assert found.unbiased
        assert (found.variance <= multinomial.variance + 1e-15).all()
        assert (found.inclusion >= multinomial.inclusion - 1e-12).all()
        assert found.expected_clients >= multinomial.expected_clients - 1e-12
        assert found.gamma == pytest.approx(1 / m)


def test_the_gap_to_multinomial_sampling_is_the_spread_of_a_clients_shares():
    for sizes, m in instances():
        p = sizes / sizes.sum()
        sampler = ClusteredBySize(per_round=m, sizes=sizes)
        gap = ((sampler.matrix(p) ** 2).sum(axis=0) - m * p**2) / m**2
        found = sampler.statistics(p).variance
        assert np.allclose(p * (1 - p) / m - found, gap, atol=1e-15)


def test_the_total_variance_does_not_depend_on_the_order_of_equal_clients():
    p = UNEVEN / UNEVEN.sum()
    found = {
        ClusteredBySize(per_round=10, sizes=UNEVEN, seed=s).statistics(p).total_variance for s in range(9)
    }
    assert max(found) - min(found) < 1e-15


def test_importances_that_are_no_sizes_give_the_same_groups_up_to_tiny_units():
    p = UNEVEN / UNEVEN.sum()
    exact = ClusteredBySize(per_round=10, sizes=UNEVEN, seed=5).matrix(p)
    scaled = ClusteredBySize(per_round=10, seed=5)
    assert np.allclose(scaled.matrix(p), exact, atol=1e-14)
    assert scaled.statistics(p).unbiased


def test_the_numbers_of_clients_sorted_by_class_do_not_turn_size_into_an_oracle():
    labels, p = np.repeat(np.arange(10), 10), np.full(100, 0.01)
    stable = np.array(naive_table([1] * 100, range(100), 10)) / 100
    assert expected_classes(stable, labels) == pytest.approx(10)
    found = [expected_classes(ClusteredBySize(per_round=10, seed=s).matrix(p), labels) for s in range(100)]
    # Averaged over all orders, a cohort is a uniformly random one.
    uniform = 10 * (1 - comb(90, 10) / comb(100, 10))
    assert np.mean(found) == pytest.approx(uniform, abs=5 * np.std(found) / np.sqrt(100))
    assert max(found) < 8


def test_equal_clients_in_equal_groups_have_the_variances_of_uniform_draws():
    found = ClusteredBySize(per_round=5).statistics(np.full(20, 0.05))
    assert np.allclose(found.variance, (20 / 5 - 1) * 0.05**2)
    assert np.allclose(found.inclusion, 5 / 20)
    assert found.clients_variance == pytest.approx(0.0, abs=1e-12)
    off = np.unique(found.covariance()[~np.eye(20, dtype=bool)].round(12))
    assert np.allclose(off, [-1 / 400, 0])


def test_as_many_draws_as_equal_clients_is_everyone():
    p = np.full(6, 1 / 6)
    cohort = ClusteredBySize(per_round=6).draw(p, generator(1, "x"))
    everyone = Full().draw(p, generator(1, "x"))
    assert np.array_equal(cohort.clients, everyone.clients)
    assert np.allclose(cohort.weights, everyone.weights)


@pytest.mark.parametrize("clients", [1, 3, 7, 30])
def test_clients_that_are_sure_but_for_rounding_have_no_variance(clients):
    found = ClusteredBySize(per_round=clients).statistics(np.full(clients, 1 / clients))
    assert np.allclose(found.variance, 0, atol=1e-15)
    assert np.allclose(found.inclusion, 1)
    assert found.clients_variance == pytest.approx(0.0, abs=1e-12)


def test_a_single_draw_is_multinomial():
    p = np.array([0.5, 0.2, 0.3])
    assert np.allclose(ClusteredBySize(per_round=1).matrix(p), [p])
    found, multinomial = (s.statistics(p) for s in (ClusteredBySize(per_round=1), Multinomial(per_round=1)))
    assert np.allclose(found.covariance(), multinomial.covariance())
    assert found.total_variance == pytest.approx(1 - p @ p)
    assert found.gamma == pytest.approx(multinomial.gamma)


def test_clients_without_importance_are_never_drawn_and_weights_sum_to_one():
    p = np.array([0.0, 0.6, 0.0, 0.3, 0.1])
    sampler, rng = ClusteredBySize(per_round=3), generator(2, "draws")
    for _ in range(200):
        cohort = sampler.draw(p, rng)
        assert not {0, 2} & set(cohort.clients.tolist())
        assert cohort.weights.sum() == pytest.approx(1.0)
        assert 1 / 3 - 1e-12 <= cohort.weights[cohort.clients == 1].sum() <= 1.0


def test_more_draws_than_clients_can_be_asked_of_those_who_are_there():
    turn = RoundContext(0, np.full(9, 1 / 9)).among(np.array([4, 7]), np.array([2.0, 1.0]))
    cohort = ClusteredBySize(per_round=3, sizes=np.full(9, 5)).cohort(turn)
    assert cohort.clients.tolist() == [0, 1]
    assert np.allclose(cohort.weights, [2 / 3, 1 / 3])


def test_the_line_is_made_once_for_the_same_importances(monkeypatch):
    calls = []
    original = ClusteredBySize.line
    monkeypatch.setattr(ClusteredBySize, "line", lambda self, p: calls.append(1) or original(self, p))
    sampler, p, rng = ClusteredBySize(per_round=2), np.full(4, 0.25), generator(0, "x")
    for _ in range(5):
        sampler.draw(p, rng)
    assert len(calls) == 1
    sampler.draw(p.copy(), rng)
    assert len(calls) == 2


def test_the_order_of_equal_clients_follows_the_seed():
    p = np.full(40, 1 / 40)
    orders = [ClusteredBySize(per_round=4, seed=s).line(p).clients.tolist() for s in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


def test_a_million_clients_cost_their_sorting_once():
    sizes = generator(5, "sizes").integers(1, 50, size=1_000_000)
    sampler, p = ClusteredBySize(per_round=100, sizes=sizes), sizes / sizes.sum()
    line = sampler.line(p)
    line.check(sizes)
    assert len(line.clients) == 1_000_000
    assert len(sampler.draw(p, generator(5, "draw")).clients) <= 100
