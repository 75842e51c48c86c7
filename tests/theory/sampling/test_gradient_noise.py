"""Is the noise that sampling adds to the mean gradient that of draws, and do the published rates fit it?"""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation import ClusteredBySize, Full, Multinomial
from unalike.theory.sampling.bound import Problem, asymptotic_rate, convergence_bound
from unalike.theory.sampling.gradient_noise import (
    clustered_noise,
    multinomial_noise,
    published_rate,
    published_step,
)

SIZES = np.array([5, 10, 10, 20, 25, 30, 40, 60])
IMPORTANCE = SIZES / SIZES.sum()
GRADIENTS = np.random.default_rng(0).normal(size=(8, 3))
CLUSTERED = ClusteredBySize(per_round=3, sizes=SIZES)


def exact(sampler):
    """trace(X^T C X), from all covariances of weights."""
    return float(np.einsum("id,ij,jd->", GRADIENTS, sampler.statistics(IMPORTANCE).covariance(), GRADIENTS))


def test_noise_is_that_of_the_covariances_of_weights_and_less_in_clusters():
    of_md = multinomial_noise(IMPORTANCE, GRADIENTS, 3)
    of_clusters = clustered_noise(IMPORTANCE, GRADIENTS, CLUSTERED.matrix(IMPORTANCE))
    assert of_md == pytest.approx(exact(Multinomial(per_round=3)), rel=1e-10)
    assert of_clusters == pytest.approx(exact(CLUSTERED), rel=1e-10)
    assert of_clusters < of_md


def test_noise_is_that_of_draws():
    rng, mean = np.random.default_rng(1), IMPORTANCE @ GRADIENTS
    squares = []
    for _ in range(20_000):
        cohort = CLUSTERED.draw(IMPORTANCE, rng)
        squares.append(((cohort.weights @ GRADIENTS[cohort.clients] - mean) ** 2).sum())
    error = np.std(squares) / np.sqrt(len(squares))
    formula = clustered_noise(IMPORTANCE, GRADIENTS, CLUSTERED.matrix(IMPORTANCE))
    assert abs(np.mean(squares) - formula) < 5 * error


def test_equal_distributions_are_multinomial_sampling_and_perfect_clusters_have_no_noise():
    same = clustered_noise(IMPORTANCE, GRADIENTS, np.tile(IMPORTANCE, (3, 1)))
    assert same == pytest.approx(multinomial_noise(IMPORTANCE, GRADIENTS, 3))
    kinds = np.repeat([[1.0, 2.0], [-3.0, 0.0]], 2, axis=0)
    assert clustered_noise(np.full(4, 0.25), kinds, np.kron(np.eye(2), [0.5, 0.5])) == pytest.approx(0)


def test_distributions_and_gradients_that_do_not_fit_are_refused():
    with pytest.raises(ConfigError, match="mean of the distributions must be the importance"):
        clustered_noise(IMPORTANCE, GRADIENTS, np.full((3, 8), 1 / 8))
    with pytest.raises(ConfigError, match="rows that sum to one"):
        clustered_noise(IMPORTANCE, GRADIENTS, np.ones((3, 8)))
    with pytest.raises(ConfigError, match="one row for each of 8 clients"):
        multinomial_noise(IMPORTANCE, GRADIENTS[:5], 3)


@pytest.mark.parametrize("steps", [2, 5, 40])
def test_the_rate_of_full_participation_is_the_bound_at_the_published_step(steps):
    rate = published_step(8, steps, 1000)
    problem = Problem(
        learning_rate=rate, local_steps=steps, rounds=1000, gradient_variance=2.0, dissimilarity=3.0
    )
    bound, published = (
        convergence_bound(Full().statistics(IMPORTANCE), problem).orders,
        asymptotic_rate(IMPORTANCE, problem),
    )
    assert bound.initial_error == pytest.approx(published.initial_error)
    assert bound.sampled_noise == pytest.approx(published.sampled_noise)
    # The rate has K where the bound has K - 1.
    assert bound.local_noise == pytest.approx(published.local_noise * (steps - 1) / steps)
    assert bound.client_drift == pytest.approx(published.client_drift * (steps - 1) / steps)
    assert published_rate(8, steps, 1000) == pytest.approx(
        published.initial_error + published.client_drift / 3
    )
