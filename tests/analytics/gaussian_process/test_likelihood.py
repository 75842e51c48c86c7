"""Is the marginal likelihood of padded rows right, with its gradient, and never NaN?"""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist
from scipy.special import gamma, kv
from scipy.stats import multivariate_normal

from unalike.analytics.gaussian_process.kernels import Kernel
from unalike.analytics.gaussian_process.likelihood import invert_triangle, negative_log_likelihood
from unalike.core.precision import precision
from unalike.errors import ConfigError

X, Y = np.array([[0.0], [0.5], [1.0]]), np.array([1.0, -1.0, 0.5])
GOLDEN = {
    "rbf": (7.199201, (-6.496547, -0.387190, 12.137843)),
    "matern32": (5.268325, (-2.431347, -0.095967, 3.276044)),
}
KERNELS = [("rbf", False), ("rbf", True), ("matern32", True), ("matern52", True), ("ou", True)]
SUMS = [("rbf+periodic:0.7", False), ("matern52+ou", True)]


def likelihood(kernel, params, x, y, real=None, **options):
    real = np.ones(len(y)) if real is None else real
    with precision(double=True):
        given = [jnp.asarray(np.asarray(a, float)) for a in (params, x, y, real)]
        return negative_log_likelihood(kernel, *given, **options)


def naive(kernel, params, x, y):
    """Minus a multivariate normal's log density, with covariances from formulas of special functions."""
    s, noise, length = np.exp(params[0]), np.exp(params[1]), np.exp(params[2:])
    r = cdist(x / length, x / length)
    half = {"ou": 0.5, "matern32": 1.5, "matern52": 2.5}.get(kernel.text)
    if half is None:
        k = np.exp(-(r**2) / 2)
    else:
        z = np.sqrt(2 * half) * np.where(r == 0, 1e-12, r)
        k = np.where(r == 0, 1.0, 2 ** (1 - half) / gamma(half) * z**half * kv(half, z))
    return -multivariate_normal(np.zeros(len(y)), s**2 * k + noise**2 * np.eye(len(y))).logpdf(y)


def rows(n=12, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, d)), rng.normal(size=n)


@pytest.mark.parametrize("name", GOLDEN)
def test_known_values_come_out(name):
    kernel = Kernel(name)
    found = likelihood(kernel, kernel.vector(1.0, 0.1, 0.5), X, Y, jitter=0.0)
    loss, gradient = GOLDEN[name]
    assert float(found.loss) == pytest.approx(loss, abs=1e-6)
    np.testing.assert_allclose(found.gradient, gradient, atol=1e-6)


@pytest.mark.parametrize(("name", "ard"), KERNELS)
def test_the_loss_is_that_of_a_normal_whose_covariance_is_computed_from_bessel_functions(name, ard):
    kernel, (x, y) = Kernel(name, 2, ard), rows()
    params = kernel.vector(1.3, 0.2, 0.4)
    found = likelihood(kernel, params, x, y, jitter=0.0)
    assert float(found.loss) == pytest.approx(naive(kernel, params, x, y), rel=1e-8)


@pytest.mark.parametrize(("name", "ard"), [*KERNELS, *SUMS])
def test_the_gradient_is_that_of_finite_differences(name, ard):
    kernel, (x, y) = Kernel(name, 2, ard), rows()
    params = kernel.vector(1.3, 0.3, 0.4) + 0.1 * np.arange(kernel.size)
    slope = approx_fprime(params, lambda u: float(likelihood(kernel, u, x, y).loss), 1e-6)
    np.testing.assert_allclose(likelihood(kernel, params, x, y).gradient, slope, rtol=1e-4, atol=1e-4)


def test_padding_changes_nothing():
    kernel, (x, y) = Kernel("matern32", 2, ard=True), rows()
    params = kernel.vector()
    plain = likelihood(kernel, params, x, y)
    padded = likelihood(
        kernel, params, np.vstack([x, np.full((5, 2), 7.0)]), [*y, *[9.0] * 5], [1] * 12 + [0] * 5
    )
    assert float(padded.loss) == pytest.approx(float(plain.loss), rel=1e-12)
    np.testing.assert_allclose(padded.gradient, plain.gradient, rtol=1e-9)


def test_rows_twice_without_noise_need_jitter_and_too_few_digits_are_said_not_hidden():
    kernel = Kernel("rbf")
    twice = np.repeat(np.linspace(0, 1e-6, 40), 2)[:, None]
    found = likelihood(kernel, np.log([100.0, 1e-12, 1e2]), twice, np.sin(np.arange(80.0)), jitter=0.0)
    assert bool(found.found)
    assert 1e-8 <= float(found.jitter) <= 1e-4
    lost = likelihood(kernel, np.log([1e200, 1e-12, 1e2]), twice, np.ones(80))
    assert not bool(lost.found)
    assert float(lost.loss) == 0
    assert np.array_equal(lost.gradient, np.zeros(3))


@pytest.mark.parametrize("n", [1, 64, 65, 200])
def test_a_triangle_is_inverted_by_halves(n):
    rng = np.random.default_rng(n)
    triangle = np.tril(rng.normal(size=(n, n))) / n + 2 * np.eye(n)
    with precision(double=True):
        inverse = np.asarray(invert_triangle(jnp.asarray(triangle)))
    np.testing.assert_allclose(inverse @ triangle, np.eye(n), atol=1e-10)


@pytest.mark.parametrize(
    ("text", "words"),
    [("rbff", "did you mean 'rbf'"), ("periodic:0", "must be positive"), ("rbf+", "unknown kernel")],
)
def test_kernels_that_do_not_exist_are_refused(text, words):
    with pytest.raises(ConfigError, match=words):
        Kernel(text)


def test_the_vector_is_named():
    kernel = Kernel("rbf+ou", 2, ard=True)
    assert len(kernel.names()) == kernel.size == len(kernel.vector()) == 7
    total = kernel.signal_variance(kernel.vector(2.0))
    assert float(total) == pytest.approx(4.0)
