"""Are Matern kernels of any smoothness those of Bessel functions, with the right gradients?"""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import gamma, kv

from unalike.analytics.gaussian_process.kernels import Kernel, kernel_registry
from unalike.analytics.gaussian_process.likelihood import negative_log_likelihood
from unalike.core.precision import precision
from unalike.errors import ConfigError
from unalike.theory.gaussian_process import (
    explain_coverage,
    gradient_error,
    is_covered,
    matern_gradient_exponent,
    optimization_error,
)

R = np.geomspace(1.1e-6, 35, 3000)


@pytest.mark.parametrize("nu", [0.25, 0.4, 0.5, 0.8, 1.0, 1.2, 2.0, 3.7, 9.5, 20.0])
def test_tables_give_what_scipy_gives(nu):
    part, z = kernel_registry.make(f"matern:{nu}"), np.sqrt(2 * nu) * R
    constant = 2 ** (1 - nu) / gamma(nu)
    k = part.correlation(R**2)
    np.testing.assert_allclose(k, constant * z**nu * kv(nu, z), atol=1e-10)
    slope = 2 * nu * constant * z ** (nu - 1) * kv(nu - 1, z)
    np.testing.assert_allclose(part.slope(R**2, k) * R**2, slope * R**2, atol=1e-9)
    with precision(double=True):
        np.testing.assert_allclose(part.correlation(jnp.asarray(R**2)), k, atol=1e-13)
    assert part.correlation(np.zeros(1)).tolist() == [1.0]


@pytest.mark.parametrize(("nu", "name"), [("0.5", "ou"), ("1.5", "matern32"), ("2.5", "matern52")])
def test_half_integers_have_closed_forms(nu, name):
    table, closed = (kernel_registry.make(word) for word in (f"matern:{nu}", name))
    k = closed.correlation(R**2)
    np.testing.assert_allclose(table.correlation(R**2), k, atol=1e-10)
    np.testing.assert_allclose(table.slope(R**2, k) * R**2, closed.slope(R**2, k) * R**2, atol=1e-10)


@pytest.mark.parametrize(("nu", "ard"), [("0.7", False), ("1.8", True), ("6", True)])
def test_gradients_of_the_likelihood_are_finite_differences(nu, ard):
    rng = np.random.default_rng(0)
    x, y = rng.random((12, 2)), rng.normal(size=12)
    kernel = Kernel(f"matern:{nu}", 2, ard)
    params = kernel.vector(1.2, 0.3, 0.6)

    def found(u):
        with precision(double=True):
            return negative_log_likelihood(kernel, *map(jnp.asarray, (u, x, y, np.ones(12))))

    slope = approx_fprime(params, lambda u: float(found(u).loss), 1e-6)
    np.testing.assert_allclose(found(params).gradient, slope, atol=1e-4)


@pytest.mark.parametrize("nu", ["0.1", "30", "-1"])
def test_a_smoothness_that_cannot_be_computed_is_refused(nu):
    with pytest.raises(ConfigError, match=r"from 0\.25 to 20"):
        Kernel(f"matern:{nu}")


def test_the_theory_knows_any_smoothness():
    assert is_covered("matern:1.5", 1) == is_covered("matern32", 1)
    assert not is_covered("matern:1.2", 1)
    assert "b = 0.900" in explain_coverage("matern:0.8", 2)


def test_gradients_are_bounded_by_the_hyper_parameters_part_over_four_times_the_fourth_power():
    for drawn in (None, 3):
        wanted = optimization_error(1.3, 2.0, 4, 50, drawn) / (4 * 0.3**4)
        assert gradient_error(1.3, 2.0, 4, 50, 0.3, drawn) == pytest.approx(wanted)
    least = (np.sqrt(21) + 3) / 4
    assert matern_gradient_exponent(least) == pytest.approx(0, abs=1e-12)
    assert matern_gradient_exponent(3.0) < matern_gradient_exponent(2.0) < 0
