"""Are importances for data streams the best ones, whichever way they are computed?"""

import itertools
import math

import numpy as np
import pytest
import scipy

from unalike.data.streams.optimal_importance import (
    Terms,
    best_historical_share,
    historical_share,
    imbalance,
    optimal_importance,
    phi,
    psi,
    share_out,
)
from unalike.errors import ConfigError
from unalike_studies.streams.solvers import fixed_point, general_importance, project, projected_gradient


def clients(seed, equal=False):
    """Shares, who is fresh, and a ratio."""
    rng = np.random.default_rng(seed)
    kept, fresh = rng.integers(1, 6), rng.integers(1, 8)
    rows = rng.gamma(1.0, size=kept + fresh) + 0.01
    if equal:
        rows[kept:] = rows[kept:].mean()
    shares = rows / rows.sum()
    edge = math.sqrt(shares[:kept].sum() / fresh)  # below it, fresh clients count nothing
    return shares, np.arange(kept + fresh) >= kept, edge * 10 ** rng.uniform(-0.2, 1.5)


def by_slsqp(value, start):
    simplex = {"type": "eq", "fun": lambda p: p.sum() - 1}
    return scipy.optimize.minimize(
        value,
        start,
        method="SLSQP",
        bounds=[(0, 1)] * len(start),
        constraints=simplex,
        options={"ftol": 1e-15, "maxiter": 2000},
    )


@pytest.mark.parametrize("seed", range(40))
def test_the_closed_form_the_root_and_repeated_substitution_agree(seed):
    shares, fresh, ratio = clients(seed, equal=True)
    best = optimal_importance(shares, fresh, ratio)
    kappa = ratio * math.sqrt(fresh.sum())
    closed = best_historical_share(shares[~fresh].sum(), kappa)
    assert historical_share(best, fresh) == pytest.approx(closed, abs=1e-9)
    np.testing.assert_allclose(best, share_out(float(closed), shares, fresh), atol=1e-9)
    slow = fixed_point(shares, fresh, ratio)
    assert psi(slow, shares, fresh, ratio) == pytest.approx(psi(best, shares, fresh, ratio), abs=1e-7)


@pytest.mark.parametrize("seed", range(40))
def test_for_any_sizes_no_other_method_finds_less(seed):
    shares, fresh, ratio = clients(seed)
    best = optimal_importance(shares, fresh, ratio)
    least = psi(best, shares, fresh, ratio)
    assert best.sum() == pytest.approx(1)
    assert best.min() >= 0
    found = by_slsqp(lambda p: float(psi(p, shares, fresh, ratio)), shares)
    assert least <= found.fun + 1e-9
    random = np.random.default_rng(seed).dirichlet(np.ones(len(shares)), 1000)
    assert least <= psi(random, shares, fresh, ratio).min()
    slow = fixed_point(shares, fresh, ratio)
    assert least == pytest.approx(float(psi(slow, shares, fresh, ratio)), abs=1e-7)
    assert least <= psi(slow, shares, fresh, ratio) + 1e-13


@pytest.mark.parametrize("seed", range(20))
def test_projected_gradients_come_close(seed):
    shares, fresh, ratio = clients(seed)
    values = [
        float(psi(solve(shares, fresh, ratio), shares, fresh, ratio))
        for solve in (optimal_importance, projected_gradient)
    ]
    assert values[0] <= values[1] + 1e-13
    assert values[1] == pytest.approx(values[0], abs=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_without_noise_to_fear_all_rows_count_the_same_and_with_much_only_those_that_stay(seed):
    shares, fresh, _ = clients(seed)
    np.testing.assert_allclose(optimal_importance(shares, fresh, 1e6), shares, atol=1e-5)
    np.testing.assert_allclose(optimal_importance(shares, fresh, math.inf), shares)
    corner = share_out(1.0, shares, fresh)
    np.testing.assert_allclose(optimal_importance(shares, fresh, 0.0), corner)
    edge = math.sqrt(shares[~fresh].sum() / fresh.sum())
    np.testing.assert_allclose(optimal_importance(shares, fresh, 0.999 * edge), corner)
    assert historical_share(optimal_importance(shares, fresh, 1.01 * edge), fresh) < 1


@pytest.mark.parametrize("seed", range(10))
def test_names_of_clients_do_not_matter(seed):
    shares, fresh, ratio = clients(seed)
    order = np.random.default_rng(seed).permutation(len(shares))
    moved = optimal_importance(shares[order], fresh[order], ratio)
    np.testing.assert_allclose(moved, optimal_importance(shares, fresh, ratio)[order], atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_a_larger_ratio_never_gives_historical_clients_more_and_they_get_at_least_their_rows(seed):
    shares, fresh, _ = clients(seed)
    kept = [
        float(historical_share(optimal_importance(shares, fresh, ratio), fresh))
        for ratio in np.geomspace(0.01, 100, 60)
    ]
    assert all(late <= early + 1e-9 for early, late in itertools.pairwise(kept))
    assert min(kept) >= shares[~fresh].sum() - 1e-12
    fractions = np.linspace(0.01, 0.99, 50)
    assert (np.diff(best_historical_share(fractions, 0.75)) >= 0).all()


def test_historical_clients_share_in_proportion_and_large_fresh_ones_get_less_than_that():
    shares, fresh = np.array([0.1, 0.2, 0.1, 0.6]), np.array([False, False, True, True])
    best = optimal_importance(shares, fresh, 0.8)
    assert best[1] == pytest.approx(2 * best[0])
    assert best[2] < best[3] < 6 * best[2]


def test_only_fresh_or_only_historical_clients():
    shares = np.array([0.3, 0.7])
    np.testing.assert_array_equal(optimal_importance(shares, [False, False], 0.1), shares)
    np.testing.assert_allclose(optimal_importance(shares, [True, True], 0.0), [0.5, 0.5])
    np.testing.assert_allclose(optimal_importance(shares, [True, True], 1e-12), [0.5, 0.5], atol=1e-3)
    assert 0.3 < optimal_importance(shares, [True, True], 0.5)[0] < 0.5
    assert best_historical_share(0.0, 0.3) == 0
    assert best_historical_share(1.0, 2.0) == 1


def test_a_client_without_rows_counts_nothing():
    best = optimal_importance([0.5, 0.0, 0.5, 0.0], [False, False, True, True], 1.0)
    assert best[1] == best[3] == 0
    assert imbalance([1.0, 0.0], [1.0, 0.0]) == 1
    assert imbalance([0.5, 0.5], [1.0, 0.0]) == math.inf


# Another target.


@pytest.mark.parametrize("seed", range(15))
def test_for_another_target_no_neighbor_and_no_random_point_is_better(seed):
    shares, fresh, ratio = clients(seed)
    rng = np.random.default_rng(seed)
    target, terms = rng.dirichlet(np.ones(len(shares))), Terms(1.0, rng.uniform(0.05, 1.0), ratio)
    best = general_importance(shares, fresh, target, terms)
    least = float(phi(best, shares, fresh, target, terms))
    around = rng.dirichlet(np.ones(len(shares)), 500)
    for step in (1.0, 0.1, 0.01, 1e-4):
        near = best + step * (around - best)
        assert least <= phi(near, shares, fresh, target, terms).min() + 1e-8


def test_a_strong_pull_gives_the_target_and_none_gives_psi():
    shares, fresh, ratio = clients(3)
    target = np.full(len(shares), 1 / len(shares))
    np.testing.assert_allclose(
        general_importance(shares, fresh, target, Terms(1.0, 1e3, ratio)), target, atol=1e-9
    )
    free = general_importance(shares, fresh, target, Terms(1.0, 0.0, ratio))
    np.testing.assert_allclose(free, optimal_importance(shares, fresh, ratio), atol=1e-6)


def test_the_projection_is_the_nearest_point():
    rng = np.random.default_rng(0)
    for point in rng.normal(size=(20, 5)):
        nearest = project(point)
        others = rng.dirichlet(np.ones(5), 200)
        assert nearest.sum() == pytest.approx(1)
        assert np.linalg.norm(point - nearest) <= np.linalg.norm(point - others, axis=1).min() + 1e-12


@pytest.mark.parametrize(
    ("shares", "fresh", "ratio", "sentence"),
    [
        ([0.5, 0.5], [True], 1.0, "one entry per client"),
        ([0.5, np.nan], [True, False], 1.0, "must not be negative or missing"),
        ([0.0, 0.0], [True, False], 1.0, "nor all zero"),
        ([0.5, 0.5], [True, False], -1.0, "ratio c2/c1 must not be negative"),
        ([0.5, 0.5], [True, False], math.nan, "ratio c2/c1 must not be negative"),
    ],
)
def test_a_mistake_is_one_sentence(shares, fresh, ratio, sentence):
    with pytest.raises(ConfigError, match=sentence):
        optimal_importance(shares, fresh, ratio)


def test_nobody_can_have_all_the_weight_if_nobody_is_there():
    with pytest.raises(ConfigError, match="cannot have 1 of the weight"):
        share_out(1.0, [1, 2], [True, True])
