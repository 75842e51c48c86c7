"""Is regret what it is said to be, and does the corrected bound hold where the printed one does not?"""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from unalike_studies.theory.mixtures.online_regret import (
    best_fixed_weights,
    best_rate,
    gaussian_divergence,
    gaussian_variation,
    linear_regret,
    mixture_losses,
    play_linear,
    printed_bound,
    published_rate,
    regret_bound,
    variation_bound,
)


def test_exponentiated_gradient_by_hand():
    losses, rate = np.random.default_rng(0).normal(size=(6, 3)), 0.4
    weights, expected = np.full(3, 1 / 3), []
    for loss in losses:
        expected.append(weights @ loss)
        weights = weights * np.exp(-rate * loss)
        weights /= weights.sum()
    np.testing.assert_allclose(play_linear(losses, rate), expected, atol=1e-12)
    assert linear_regret(losses, rate) == pytest.approx(sum(expected) - losses.sum(0).min())


def test_the_corrected_bound_holds_and_the_printed_one_does_not():
    m, steps, rng = 10, 500, np.random.default_rng(1)
    found = [rng.choice([-1.0, 1.0], (steps, m)) for _ in range(60)]
    for rate in (published_rate(m, 1, steps), best_rate(m, 1, steps), 0.01, 0.5):
        assert max(linear_regret(one, rate) for one in found) <= regret_bound(m, 1, steps, rate)
    first = [linear_regret(one, published_rate(m, 1, steps)) for one in found]
    assert np.mean(np.array(first) > printed_bound(m, 1, steps)) > 0.3


def test_the_bound_is_smallest_at_the_best_rate():
    found = minimize_scalar(lambda rate: regret_bound(7, 2.0, 300, rate), bounds=(1e-4, 1), method="bounded")
    assert found.x == pytest.approx(best_rate(7, 2.0, 300), rel=1e-3)
    assert found.fun == pytest.approx(2 * np.sqrt(2 * 300 * np.log(7)))
    assert regret_bound(7, 2.0, 300, published_rate(7, 2.0, 300)) == pytest.approx(
        1.5 * printed_bound(7, 2.0, 300)
    )
    assert regret_bound(7, 2.0, 300, 0.1, gradient_error=3) - regret_bound(7, 2.0, 300, 0.1) == pytest.approx(
        6
    )


def test_the_best_fixed_weights_beat_all_others():
    rng = np.random.default_rng(2)
    logs = 2 * rng.normal(size=(80, 3))
    best = mixture_losses(logs, best_fixed_weights(logs)).mean()
    assert all(best <= mixture_losses(logs, other).mean() + 1e-9 for other in rng.dirichlet(np.ones(3), 200))


def test_far_apart_the_best_fixed_weights_are_shares_of_rows():
    logs = np.array([[0.0, -80], [0, -80], [0, -80], [-80, 0]])
    np.testing.assert_allclose(best_fixed_weights(logs), [0.75, 0.25], atol=1e-9)


def test_distances_of_gaussians():
    a, b = np.array([1.0, 2, -1]), np.array([0.0, 2, 1])
    x = np.random.default_rng(3).normal(size=(200_000, 3)) + a
    ratios = (norm.logpdf(x, a) - norm.logpdf(x, b)).sum(axis=1)
    assert gaussian_divergence(a, b) == pytest.approx(ratios.mean(), abs=0.02)
    assert gaussian_variation(a, b) == pytest.approx(np.maximum(0, 1 - np.exp(-ratios)).mean(), abs=0.01)
    one, other = np.array([[0.0], [3]]), np.array([[0.5], [3]])
    assert variation_bound(one, np.array([0.4, 0.6]), other, np.array([0.5, 0.5])) == pytest.approx(0.3)
