"""Does expectation propagation find the posterior of all data, however devices take part?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from unalike.analytics.fitting import fit_rounds, linear_task
from unalike.analytics.hierarchical import HM2
from unalike.analytics.hierarchical.expectation_propagation import (
    ExpectationPropagation,
    longest_step,
    settle_site,
)
from unalike.analytics.hierarchical.moments import Moments
from unalike.analytics.hierarchical.natural_parameters import Natural
from unalike.analytics.hierarchical.sites import NormalSite, RidgeSite
from unalike.analytics.hierarchical.tilted_sampling import natural_of_draws
from unalike.core.precision import precision
from unalike.errors import ConfigError
from unalike_studies.linear_models.central_sampling import sample_population

from .designs import drawn_from_a_population

MEAN, VARIANCE = (1.0, -0.5), (0.8, 0.3)


def rows(count, width, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, width)), rng.normal(size=count)


def moments(x, y):
    return Moments(jnp.asarray(x.T @ x), jnp.asarray(x.T @ y), jnp.asarray(y @ y), jnp.asarray(float(len(y))))


def differences(function, point, step=1e-4):
    """Gradient and Hessian by differences."""
    moves = step * np.eye(len(point))
    gradient = [(function(point + m) - function(point - m)) / (2 * step) for m in moves]
    signs = [(s, t) for s in (1, -1) for t in (1, -1)]
    hessian = [[sum(s * t * function(point + s * m + t * n) for s, t in signs) for n in moves] for m in moves]
    return np.array(gradient), np.array(hessian) / (4 * step**2)


@pytest.mark.parametrize("count", [2, 12])
def test_a_normal_site_is_the_marginal_density_of_the_rows(count):
    x, y = rows(count, 3)
    noise = 0.7

    def naive(phi):
        covariance = noise * np.eye(count) + x @ np.diag(np.exp(phi[3:])) @ x.T
        return multivariate_normal.logpdf(y, x @ phi[:3], covariance)

    phi, other = np.array([0.3, -0.2, 0.5, -1.0, 0.2, 0.6]), np.array([1.0, 0.1, 0.0, 0.4, -0.3, 0.2])
    with precision(double=True):
        site = NormalSite(3)
        found = site.expand(moments(x, y), jnp.asarray(noise), jnp.asarray(phi))
        at_other = site.expand(moments(x, y), jnp.asarray(noise), jnp.asarray(other))

    assert float(found.value - at_other.value) == pytest.approx(naive(phi) - naive(other), rel=1e-9)
    gradient, hessian = differences(naive, phi)
    np.testing.assert_allclose(found.gradient, gradient, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.hessian, hessian, rtol=1e-4, atol=1e-4)


def test_a_common_variance_is_the_chain_rule():
    x, y = rows(9, 2)
    with precision(double=True):
        site, noise, given = NormalSite(2, common_variance=True), jnp.asarray(1.0), moments(x, y)
        phi = np.array([0.1, 0.2, -0.3])
        found = site.expand(given, noise, jnp.asarray(phi))
        gradient, hessian = differences(lambda p: float(site.expand(given, noise, jnp.asarray(p)).value), phi)
    np.testing.assert_allclose(found.gradient, gradient, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.hessian, hessian, rtol=1e-4, atol=1e-4)


def test_a_ridge_site_is_the_marginal_density_of_the_rows():
    x, y = rows(6, 4)

    def naive(phi):
        lam, noise = np.exp(phi)
        return multivariate_normal.logpdf(y, np.zeros(6), noise * (np.eye(6) + x @ x.T / lam))

    one, other = np.array([0.5, -0.2]), np.array([-1.0, 0.7])
    with precision(double=True):
        values = [
            RidgeSite(4).expand(moments(x, y), jnp.ones(()), jnp.asarray(p)).value for p in (one, other)
        ]
    assert float(values[0] - values[1]) == pytest.approx(naive(one) - naive(other), rel=1e-9)


def method(**given):
    site = given.pop("site", NormalSite(2))
    shape = {"prior_mean": (0.0,) * site.size, "prior_variance": (1.0,) * site.size}
    return ExpectationPropagation(site=site, **shape, **given)


def test_with_known_variances_one_undamped_round_is_the_exact_posterior():
    design, _ = drawn_from_a_population(8, (0.2, -0.1), (0.5, 0.5), rows=10, seed=3)
    logs = (np.log(0.5), np.log(0.5))
    exact = method(site=NormalSite(2, known_log_variance=logs), damping=1.0, rounds=1, noise=1.0)
    run = fit_rounds(design, linear_task(design), exact, 1)
    found = np.eye(2)
    shift = np.zeros(2)
    for i in range(8):
        x, y = design.client(i)
        inverse = np.linalg.inv(np.eye(10) + 0.5 * x @ x.T)
        found, shift = found + x.T @ inverse @ x, shift + x.T @ inverse @ y
    np.testing.assert_allclose(np.asarray(run.state["posterior"][1]), found, rtol=1e-8)
    np.testing.assert_allclose(np.asarray(run.state["posterior"][0]), shift, rtol=1e-8, atol=1e-8)


def test_the_posterior_is_that_of_all_rows_in_one_place():
    design, _ = drawn_from_a_population(30, MEAN, VARIANCE, rows=30, seed=1)
    fitted = HM2(rounds=25).fit(design)
    draws = sample_population(design, 1500)
    spread = draws.std(axis=0)
    assert np.abs((fitted.phi_mean - draws.mean(axis=0)) / spread).max() < 0.3
    np.testing.assert_allclose(np.sqrt(np.diag(fitted.phi_cov)) / spread, 1, atol=0.12)


def test_whoever_takes_part_the_fixed_point_is_the_same_and_sites_add_up():
    design, _ = drawn_from_a_population(12, MEAN, VARIANCE, rows=20, seed=2)
    everyone = HM2(rounds=40).fit(design)
    some = HM2(rounds=100, patience=8).fit(design, per_round=4)
    spread = np.sqrt(np.diag(everyone.phi_cov))
    assert np.abs((some.phi_mean - everyone.phi_mean) / spread).max() < 0.05
    message = some.run.message
    kept, _ = some.run.memories.gather(np.arange(12))
    with precision(double=True):
        total = Natural(jnp.zeros(4), jnp.eye(4))
        for k in range(12):
            total = total.times(settle_site(jax.tree.map(lambda leaf, k=k: leaf[k], kept), message))
    np.testing.assert_allclose(total.precision, message["posterior"].precision, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(total.shift, message["posterior"].shift, rtol=1e-9, atol=1e-9)


def test_a_step_is_halved_until_the_posterior_is_proper_and_near():
    with precision(double=True):
        old = Natural(jnp.zeros(1), jnp.eye(1))
        assert float(longest_step(old, Natural(jnp.zeros(1), jnp.full((1, 1), -3.0)))) == 0.25
        assert float(longest_step(old, Natural(jnp.full(1, 3.5), jnp.zeros((1, 1))))) == 0.25
        assert float(longest_step(old, Natural(jnp.full(1, 0.5), jnp.eye(1)))) == 1.0


def test_every_engine_finds_the_same_and_a_run_goes_on_where_it_stopped(tmp_path):
    design, _ = drawn_from_a_population(4, MEAN, VARIANCE, rows=8, seed=5)
    local, debug = (HM2(rounds=3).fit(design, engine=engine) for engine in ("local", "debug"))
    np.testing.assert_allclose(local.phi_mean, debug.phi_mean, rtol=1e-9)
    HM2(rounds=3).fit(design, out=tmp_path / "run")
    again = HM2(rounds=3).fit(design, out=tmp_path / "run", resume=True)
    np.testing.assert_array_equal(again.phi_mean, local.phi_mean)


def test_the_precision_of_draws_is_unbiased():
    rng = np.random.default_rng(0)
    found = []
    with precision(double=True):
        for _ in range(400):
            found.append(natural_of_draws(jnp.asarray(rng.normal(size=(12, 2))), 12).precision)
    np.testing.assert_allclose(np.mean(found, axis=0), np.eye(2), atol=0.1)


def test_sampling_the_tilted_densities_agrees_with_laplace():
    design, _ = drawn_from_a_population(5, MEAN, VARIANCE, rows=25, seed=4)
    laplace = HM2(rounds=25).fit(design)
    sampled = HM2(rounds=12, tilted="mcmc", damping=0.3).fit(design)
    spread = np.sqrt(np.diag(laplace.phi_cov))
    assert np.abs((sampled.phi_mean - laplace.phi_mean) / spread).max() < 0.5
    np.testing.assert_allclose(np.sqrt(np.diag(sampled.phi_cov)) / spread, 1, atol=0.35)


def test_what_cannot_work_is_refused():
    with pytest.raises(ConfigError, match="damping"):
        method(damping=0.0)
    with pytest.raises(ConfigError, match="did you mean 'laplace'"):
        method(tilted="laplac")
    with pytest.raises(ConfigError, match="as many"):
        ExpectationPropagation(site=NormalSite(2), prior_mean=(0.0,), prior_variance=(1.0,))
