"""The published inequalities hold on quadratics, whose minimizers and constants are all known."""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation.strategies.bias import (
    bias_bound,
    bias_bound_by_variation,
    biased_importance,
    chi_square,
    total_bound,
    total_variation,
    unreachable,
)


class Quadratics:
    """F_k(w) = (w - c_k)' H_k (w - c_k) / 2 + b_k, with random curvatures, centers and floors."""

    def __init__(self, rng, clients, dimension, condition, spread):
        bases = np.linalg.qr(rng.normal(size=(clients, dimension, dimension)))[0]
        curvatures = np.exp(rng.uniform(0, np.log(condition), (clients, dimension)))
        self.hessians = np.einsum("kij,kj,klj->kil", bases, curvatures, bases)
        self.centers = spread * rng.normal(size=(clients, dimension))
        self.floors = rng.normal(size=clients)
        self.condition = curvatures.max() / curvatures.min()

    def values(self, w):
        away = w - self.centers
        return np.einsum("ki,kij,kj->k", away, self.hessians, away) / 2 + self.floors

    def minimizer(self, weights):
        pull = np.einsum("k,kij,kj->i", weights, self.hessians, self.centers)
        return np.linalg.solve(np.einsum("k,kij->ij", weights, self.hessians), pull)


def importance(rng, clients):
    return rng.dirichlet(np.full(clients, rng.choice([0.3, 1.0, 10.0])))


def problems(count=300):
    rng = np.random.default_rng(11)
    for _ in range(count):
        clients, dimension = rng.integers(1, 8), rng.integers(1, 5)
        problem = Quadratics(rng, clients, dimension, rng.choice([1.0, 3.0, 30.0]), rng.choice([0.1, 1, 10]))
        alpha, active = importance(rng, clients), rng.uniform(0.02, 1, clients)
        weights = rng.random(clients) * (rng.random(clients) < 0.7)
        weights[rng.integers(clients)] += 0.1
        yield rng, problem, alpha, biased_importance(active, weights)


def test_the_error_is_at_most_that_of_optimization_and_bias_together():
    for rng, problem, alpha, p in problems():
        best, biased = problem.minimizer(alpha), problem.minimizer(p)
        w = biased + rng.choice([0.0, 0.1, 5.0]) * rng.normal(size=biased.shape)
        optimization = p @ (problem.values(w) - problem.values(biased))
        bias = alpha @ (problem.values(biased) - problem.values(best))
        error = alpha @ (problem.values(w) - problem.values(best))
        assert error <= total_bound(optimization, bias, problem.condition) * (1 + 1e-9) + 1e-9
        assert error <= 2 * problem.condition * (optimization + bias) * (1 + 1e-9) + 1e-9  # kappa suffices


def test_the_bias_is_at_most_both_of_its_bounds():
    for _, problem, alpha, p in problems():
        best, biased = problem.minimizer(alpha), problem.minimizer(p)
        bias = alpha @ (problem.values(biased) - problem.values(best))
        gamma = (problem.values(best) - problem.floors).max()
        gamma_biased = (problem.values(biased) - problem.floors).max()
        assert bias <= bias_bound(alpha, p, problem.condition, gamma) * (1 + 1e-9) + 1e-9
        assert bias <= bias_bound_by_variation(alpha, p, problem.condition, gamma_biased) * (1 + 1e-9) + 1e-9


def test_the_bias_is_at_most_its_bounds_with_kappa_instead_of_its_square():
    """Gradients are at most sqrt(2 L gap), so one of the two published factors kappa is not needed."""
    for _, problem, alpha, p in problems():
        best, biased = problem.minimizer(alpha), problem.minimizer(p)
        bias = alpha @ (problem.values(biased) - problem.values(best))
        gamma, gamma_biased = ((problem.values(w) - problem.floors).max() for w in (best, biased))
        root = np.sqrt(problem.condition)
        assert bias <= bias_bound(alpha, p, root, gamma) * (1 + 1e-9) + 1e-9
        assert bias <= bias_bound_by_variation(alpha, p, root, gamma_biased) * (1 + 1e-9) + 1e-9


def test_bounds_are_their_formulas():
    alpha, p = [0.5, 0.5], [0.8, 0.2]
    assert chi_square(alpha, p) == pytest.approx(0.09 / 0.8 + 0.09 / 0.2)
    assert bias_bound(alpha, p, 3.0, 2.0) == pytest.approx(9 * (0.09 / 0.8 + 0.09 / 0.2) * 2)
    assert bias_bound_by_variation(alpha, p, 3.0, 2.0) == pytest.approx(4 * 9 * 0.3**2 * 2)
    assert total_bound(0.25, 0.5, 3.0) == pytest.approx(2 * 9 * 0.75)


def test_without_an_importance_on_the_wrong_clients_both_bounds_vanish():
    alpha = np.array([0.5, 0.3, 0.2])
    assert bias_bound(alpha, alpha, 3.0, 2.0) == bias_bound_by_variation(alpha, alpha, 3.0, 2.0) == 0


def test_clients_that_are_alike_have_no_bias_even_if_some_never_count():
    assert bias_bound([0.5, 0.5], [1.0, 0.0], 3.0, heterogeneity=0.0) == 0
    assert bias_bound([0.5, 0.5], [1.0, 0.0], 3.0, heterogeneity=0.1) == np.inf
    assert bias_bound_by_variation([0.5, 0.5], [1.0, 0.0], 3.0, 0.1) == pytest.approx(4 * 9 * 0.25 * 0.1)


def test_importance_over_availability_is_unbiased():
    rng = np.random.default_rng(0)
    for _ in range(50):
        alpha, active = importance(rng, 30), rng.uniform(1e-3, 1, 30)
        np.testing.assert_allclose(biased_importance(active, alpha / active), alpha, atol=1e-12)


def test_leaving_clients_out_costs_their_importance_in_total_variation():
    rng = np.random.default_rng(1)
    for _ in range(50):
        alpha, active = importance(rng, 30), rng.uniform(0.01, 1, 30)
        kept = rng.random(30) < 0.6
        kept[0] = True
        p = biased_importance(active, np.where(kept, alpha / active, 0.0))
        assert total_variation(alpha, p) == pytest.approx(1 - alpha[kept].sum(), abs=1e-12)


def test_biased_importance_ignores_the_scale_of_weights_and_sums_to_one():
    active, weights = np.array([0.9, 0.5, 0.0]), np.array([0.2, 3.0, 1.0])
    p = biased_importance(active, weights)
    assert p.sum() == pytest.approx(1)
    assert p[2] == 0
    np.testing.assert_allclose(p, biased_importance(active, 7 * weights))


def test_divergences_equal_their_definitions():
    rng = np.random.default_rng(2)
    for _ in range(20):
        alpha, p = importance(rng, 6), importance(rng, 6)
        naive = sum((a - b) ** 2 / b for a, b in zip(alpha, p, strict=True))
        assert chi_square(alpha, p) == pytest.approx(naive)
        assert total_variation(alpha, p) == pytest.approx(max((alpha - p)[s].sum() for s in subsets(6)))
        assert 4 * total_variation(alpha, p) ** 2 <= chi_square(alpha, p) * (1 + 1e-12)  # Cauchy-Schwarz


def subsets(n):
    for bits in range(2**n):
        yield [k for k in range(n) if bits >> k & 1]


def test_chi_square_is_infinite_only_if_a_client_that_matters_never_counts():
    assert chi_square([0.5, 0.5, 0.0], [1.0, 0.0, 0.0]) == np.inf
    assert chi_square([0.5, 0.5, 0.0], [0.5, 0.5, 0.0]) == 0


def test_who_is_never_there_is_out_of_reach():
    assert unreachable([0.5, 0.3, 0.2], [0.0, 0.5, 0.0]) == pytest.approx(0.7)
    assert unreachable([0.5, 0.5], [0.1, 1.0]) == 0


@pytest.mark.parametrize("weights", [[0.0, 0.0], [-1.0, 2.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_weights_must_be_finite_and_somebody_must_count(weights):
    with pytest.raises(ConfigError, match="weights must be finite and not negative"):
        biased_importance([0.5, 0.5], weights)


def test_importances_of_different_populations_cannot_be_compared():
    for divergence in (chi_square, total_variation):
        with pytest.raises(ConfigError, match="importances of 2 and 3 clients cannot be compared"):
            divergence([0.5, 0.5], [0.5, 0.25, 0.25])
