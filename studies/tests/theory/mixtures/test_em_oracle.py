"""Does expectation and maximization in one place satisfy the identities it is meant to test others by?"""

import numpy as np
import pytest
from scipy.optimize import minimize

from unalike_studies.theory.mixtures.em_oracle import (
    Custom,
    LeastSquares,
    Logistic,
    MixtureProblem,
    divergence,
)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    owners = np.repeat(np.arange(4), [10, 25, 5, 40])
    x = np.hstack([rng.normal(size=(80, 3)), np.ones((80, 1))])
    signs = np.where(rng.random(80) < np.array([0.1, 0.9, 0.5, 0.3])[owners], 1, -1)
    y = (signs * x[:, 0] + 0.3 * rng.normal(size=80) > 0).astype(float)
    return MixtureProblem(x, y, owners, Logistic(l2=1e-3))


@pytest.fixture(scope="module")
def point():
    rng = np.random.default_rng(1)
    return rng.normal(size=(2, 4)), rng.dirichlet(np.ones(2), 4)


def test_the_posterior_is_bayes_rule(problem, point):
    theta, weights = point
    q = problem.posterior(theta, weights)
    for i in (0, 17, 60):
        score = theta @ problem.x[i]
        chance = np.where(problem.y[i] == 1, 1 / (1 + np.exp(-score)), 1 / (1 + np.exp(score)))
        joint = weights[problem.owners[i]] * chance
        np.testing.assert_allclose(q[i], joint / joint.sum(), atol=1e-12)


def test_the_bound_lies_above_by_the_divergence_and_touches_at_the_posterior(problem, point):
    theta, weights = point
    q = np.random.default_rng(2).dirichlet(np.ones(2), 80)
    gap = problem.bounds(theta, weights, q) - problem.objectives(theta, weights)
    np.testing.assert_allclose(gap, problem.evidence_gaps(theta, weights, q), atol=1e-12)
    assert (gap > 0).all()
    exact = problem.posterior(theta, weights)
    np.testing.assert_allclose(
        problem.bounds(theta, weights, exact), problem.objectives(theta, weights), atol=1e-12
    )


def test_new_weights_lower_the_bound_by_their_divergence_from_the_old(problem, point):
    theta, weights = point
    q = np.random.default_rng(3).dirichlet(np.ones(2), 80)
    new = problem.best_weights(q)
    gain = problem.bounds(theta, weights, q) - problem.bounds(theta, new, q)
    np.testing.assert_allclose(gain, divergence(new, weights), atol=1e-12)


def test_the_objective_is_the_mean_over_all_rows(problem, point):
    theta, weights = point
    sizes = problem.sizes / problem.sizes.sum()
    assert problem.objective(theta, weights) == pytest.approx(sizes @ problem.objectives(theta, weights))


def test_exact_steps_never_raise_the_objective(problem, point):
    values = problem.solve(point[0], steps=60).objective
    assert np.diff(values).max() <= 1e-7  # the small penalty of the fits is not part of f


def test_the_weighted_fit_is_the_minimum_that_another_solver_finds(problem):
    weights = np.random.default_rng(4).random(80)
    found = problem.component.fit(np.zeros(4), problem.x, problem.y, weights)

    def value(theta):
        return weights @ problem.component.losses(theta, problem.x, problem.y) + 0.5e-3 * theta @ theta

    assert value(found) <= minimize(value, np.ones(4)).fun + 1e-8


def test_least_squares_is_weighted_regression(problem):
    rng = np.random.default_rng(5)
    y, weights = rng.normal(size=80), rng.random(80)
    scaled = np.sqrt(weights)
    wanted = np.linalg.lstsq(problem.x * scaled[:, None], y * scaled, rcond=None)[0]
    np.testing.assert_allclose(LeastSquares().fit(np.zeros(4), problem.x, y, weights), wanted, atol=1e-6)


def test_a_mixture_of_two_lines_is_found():
    """y = 3x for some rows, -3x for others, with little noise."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(300, 1))
    owners = np.repeat(np.arange(3), 100)
    up = rng.random(300) < np.array([0.9, 0.5, 0.1])[owners]
    y = np.where(up, 4.0, -4.0) * x[:, 0] + 0.1 * rng.normal(size=300)
    problem = MixtureProblem(x, y, owners, LeastSquares())
    best = problem.restarts([rng.normal(size=(2, 1)) for _ in range(3)])
    order = np.argsort(best.theta[:, 0])[::-1]
    np.testing.assert_allclose(best.theta[order, 0], [4, -4], atol=0.3)
    assert (np.diff(best.weights[:, order[0]]) < 0).all()


def test_weights_alone_do_not_depend_on_where_they_start(problem, point):
    """The likelihood is concave in the weights, so there is one optimum."""
    rng = np.random.default_rng(7)
    one, other = (problem.fit_weights(point[0], rng.dirichlet(np.ones(2), 4), 3000) for _ in range(2))
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_a_callback_may_be_the_component(problem, point):
    own = Logistic(l2=1e-3)
    other = MixtureProblem(problem.x, problem.y, problem.owners, Custom(own.losses, own.fit))
    for a, b in zip(other.step(*point), problem.step(*point), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_subset_keeps_each_client_s_objective(problem, point):
    theta, weights = point
    part = problem.subset([3, 1])
    np.testing.assert_allclose(
        part.objectives(theta, weights[[3, 1]]), problem.objectives(theta, weights)[[3, 1]]
    )
