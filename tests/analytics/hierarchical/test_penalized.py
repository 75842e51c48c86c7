"""Do penalized regressions sample what they should, and keep the predictors that matter?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import invgauss

from unalike.analytics.design import Design
from unalike.analytics.hierarchical import PenalizedRegression
from unalike.analytics.hierarchical.moments import Moments
from unalike.analytics.hierarchical.natural_parameters import Natural
from unalike.analytics.hierarchical.penalized_sampling import (
    draw_coefficients,
    draw_inverse_gaussian,
    sample_penalized,
)
from unalike.analytics.hierarchical.penalties import Penalty, hyper_prior_registry, penalty_registry
from unalike.core.precision import precision
from unalike.data import Federation
from unalike.errors import ConfigError

TRUTH = np.array([2.0, -1.0, 0.0, 0.0, 0.0])


def sparse(devices=4, rows=40, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(devices), rows)
    x = rng.normal(size=(len(owners), 5))
    y = x @ TRUTH + noise * rng.normal(size=len(owners))
    federation = Federation.from_owners(x, y, owners, classes=None, test_fraction=0.25, seed=seed)
    return Design.of(federation, intercept=False)


@pytest.mark.parametrize("ratio", [0.0, 0.4, 1.0])
def test_a_penalty_is_a_density(ratio):
    penalty = Penalty(ratio)
    with precision(double=True):
        constant = float(jnp.exp(penalty.log_constant(jnp.asarray(1.7))))
        l1, l2 = (float(rate) for rate in penalty.rates(jnp.asarray(1.7)))
    whole = 2 * quad(lambda u: np.exp(-l1 * u - l2 * u * u / 2), 0, np.inf)[0]
    assert constant == pytest.approx(whole, rel=1e-6)


def test_inverse_gaussian_draws_have_their_distribution():
    mean, shape = 1.5, 0.8
    with precision(double=True):
        draws = draw_inverse_gaussian(jax.random.key(0), jnp.full(20_000, mean), jnp.asarray(shape))
    levels = np.array([0.1, 0.5, 0.9])
    expected = invgauss.cdf(np.quantile(np.asarray(draws), levels), mean / shape, scale=shape)
    np.testing.assert_allclose(expected, levels, atol=0.02)


def test_one_coefficient_of_a_lasso_has_the_posterior_of_numerical_integration():
    """With the penalty and the noise all but known, theta has density exp(-(y - theta)^2/2 - 2|theta|)."""
    with precision(double=True):
        one = jnp.asarray([[1.0]])
        moments = Moments(one, jnp.asarray([1.5]), jnp.asarray(2.25), jnp.asarray(1.0))
        cavity = Natural.of(jnp.asarray([np.log(2.0), 0.0]), 1e-6 * jnp.eye(2))
        sample = jax.jit(
            lambda key: sample_penalized(moments, Penalty(1.0), cavity, cavity.mean, key, 20_000, 500)
        )
        phi, theta = sample(jax.random.key(1))
    density = lambda t: np.exp(-((1.5 - t) ** 2) / 2 - 2 * abs(t))  # noqa: E731
    whole = quad(density, -9, 9, points=[0.0])[0]
    mean = quad(lambda t: t * density(t), -9, 9, points=[0.0])[0] / whole
    square = quad(lambda t: t * t * density(t), -9, 9, points=[0.0])[0] / whole
    assert np.asarray(theta).mean() == pytest.approx(mean, abs=0.03)
    assert np.asarray(theta).std() == pytest.approx(np.sqrt(square - mean**2), abs=0.03)
    np.testing.assert_allclose(np.asarray(phi).mean(axis=0), [np.log(2.0), 0.0], atol=0.01)


@pytest.mark.parametrize("prior", ["lasso", "ridge"])
def test_predictors_that_matter_are_kept_and_the_noise_is_found(prior):
    design = sparse()
    model = PenalizedRegression(prior=prior, draws=600, burn_in=200).fit(design)
    kept = model.select()
    assert kept[:, TRUTH != 0].all()
    assert kept[:, TRUTH == 0].mean() < 0.4
    assert np.exp(model.phi_mean[1] / 2) == pytest.approx(0.3, rel=0.15)
    assert model.rmse() < 0.36
    assert model.rmse(refit=True) < 0.36
    assert (model.refit()[~kept] == 0).all()
    if prior == "ridge":
        text = str(model.summary())
        assert "noise variance" in text
        assert "kept" in text


def test_ridge_coefficients_are_those_of_the_learned_penalty():
    design = sparse()
    model = PenalizedRegression(prior="ridge").fit(design)
    x, y = design.client(1)
    expected = np.linalg.solve(x.T @ x + np.exp(model.phi_mean[0]) * np.eye(5), x.T @ y)
    np.testing.assert_allclose(model.params[1], expected, atol=0.02)
    mean, std = model.predict(x, 1, return_std=True)
    assert np.abs(mean - x @ expected).max() < 0.05
    assert (std > 0.2).all()


def test_priors_are_made_by_name():
    assert penalty_registry.make("elastic-net:0.3") == Penalty(0.3)
    assert hyper_prior_registry.make("half-cauchy:2").mean == pytest.approx(np.log(2))
    assert hyper_prior_registry.make("flat").variance > hyper_prior_registry.make("lognormal").variance
    with pytest.raises(ConfigError, match="between 0 and 1"):
        penalty_registry.make("elastic-net:2")
    with pytest.raises(ConfigError, match="unknown penalty"):
        PenalizedRegression(prior="bridge").fit(sparse())
    with pytest.raises(ConfigError, match="intercept"):
        PenalizedRegression().fit(Design.of(sparse().federation))


# The fused lasso -----------------------------------------------------------------------------------------


def test_coefficients_under_a_fused_lasso_have_the_density_that_a_grid_gives():
    """Two coefficients with a known penalty and noise: Gibbs steps against the density on a grid."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 2))
    y = x @ [0.8, 0.5] + rng.normal(size=12)
    parts = (x.T @ x, x.T @ y, y @ y, 12.0)
    moments = Moments(*(jnp.asarray(part, jnp.float32) for part in parts))
    lam, ratio, penalty = 3.0, 0.4, Penalty(0.4, fused=True)
    phi = jnp.log(jnp.asarray([lam, 1.0]))

    def step(theta, key):
        theta = draw_coefficients(key, moments, penalty, theta, phi)
        return theta, theta

    keys = jax.random.split(jax.random.key(1), 6000)
    draws = np.asarray(jax.lax.scan(step, jnp.zeros(2), keys)[1])[500:]
    grid = np.linspace(-2, 3, 301)
    a, b = np.meshgrid(grid, grid, indexing="ij")
    fit = -0.5 * ((y[:, None, None] - x[:, 0, None, None] * a - x[:, 1, None, None] * b) ** 2).sum(axis=0)
    log = fit - lam * (ratio * (np.abs(a) + np.abs(b)) + (1 - ratio) * np.abs(a - b))
    weights = np.exp(log - log.max())
    weights /= weights.sum()
    wanted = np.array([(weights * a).sum(), (weights * b).sum()])
    np.testing.assert_allclose(draws.mean(axis=0), wanted, atol=0.03)
    gap = (weights * np.abs(a - b)).sum()
    assert np.abs(draws[:, 0] - draws[:, 1]).mean() == pytest.approx(gap, abs=0.03)


def test_the_fused_constant_falls_with_the_penalty_to_the_power_of_the_dimension():
    grid = np.linspace(-12, 12, 1201)
    a, b = np.meshgrid(grid, grid)
    penalty = Penalty(0.3, fused=True)

    def integral(lam):
        return np.exp(-lam * (0.3 * (np.abs(a) + np.abs(b)) + 0.7 * np.abs(a - b))).sum()

    found = np.log(integral(1.0) / integral(2.0))
    constants = [2 * float(penalty.log_constant(jnp.asarray(lam))) for lam in (1.0, 2.0)]
    assert constants[0] - constants[1] == pytest.approx(found, rel=0.02)


def test_neighbors_are_drawn_together_by_the_fused_lasso():
    rng = np.random.default_rng(3)
    truth = np.array([2.0, 2.0, 2.0, 0.0, 0.0, 0.0])
    x, owners = rng.normal(size=(60, 6)), np.arange(60) % 4
    data = Federation.from_owners(x, x @ truth + rng.normal(size=60), owners, classes=None)
    errors = [
        np.abs(PenalizedRegression(prior=prior, draws=600, burn_in=200).fit(data).params - truth).mean()
        for prior in ("fused-lasso:0.2", "lasso")
    ]
    assert errors[0] < errors[1]
    with pytest.raises(ConfigError, match="below 1"):
        PenalizedRegression(prior="fused-lasso:1").fit(data)
