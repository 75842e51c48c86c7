"""Is mirror descent on mixture weights what its closed form says?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from unalike.algorithms.shared.mirror_descent import mirror_rate, mirror_step, mixture_gradient


def drawn(seed, components=4, rows=6):
    rng = np.random.default_rng(seed)
    return rng.gamma(1.0, size=(rows, components)), rng.dirichlet(np.ones(components)), rng


def test_a_step_minimizes_the_linear_loss_plus_the_divergence_from_where_it_was():
    _, weights, rng = drawn(0)
    gradient, rate = rng.normal(size=4), 0.7

    def objective(free):
        new = np.exp(free - free.max())
        new /= new.sum()
        return rate * gradient @ new + (new * np.log(new / weights)).sum()

    found = minimize(objective, np.zeros(4), tol=1e-12).x
    wanted = np.exp(found - found.max())
    np.testing.assert_allclose(
        mirror_step(jnp.asarray(weights), gradient, rate), wanted / wanted.sum(), atol=1e-5
    )


def test_many_steps_are_one_step_along_the_sum_of_gradients():
    _, weights, rng = drawn(1)
    gradients = rng.normal(size=(5, 4))
    here = jnp.asarray(weights)
    for gradient in gradients:
        here = mirror_step(here, gradient, 0.3)
    once = weights * np.exp(-0.3 * gradients.sum(0))
    np.testing.assert_allclose(here, once / once.sum(), atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_that_of_the_log_loss_and_its_weighted_sum_is_minus_one(seed):
    losses, weights, _ = drawn(seed)
    rows = jnp.array([1.0, 1, 1, 2, 0.5, 0])

    def loss(pi):
        return -rows @ jnp.log(jnp.exp(-losses) @ pi) / rows.sum()

    found = mixture_gradient(jnp.asarray(losses), jnp.asarray(weights), rows)
    np.testing.assert_allclose(found, jax.grad(loss)(jnp.asarray(weights)), rtol=1e-4)
    assert float(weights @ found) == pytest.approx(-1, abs=1e-6)


def test_a_constant_added_to_the_gradient_changes_nothing():
    _, weights, rng = drawn(2)
    gradient = rng.normal(size=4)
    one, other = (mirror_step(jnp.asarray(weights), gradient + c, 0.4) for c in (0.0, 3.0))
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_the_floor_keeps_every_weight_alive():
    here = jnp.array([0.5, 0.5])
    for _ in range(50):
        here = mirror_step(here, jnp.array([5.0, -5.0]), 1.0, 1e-3)
    np.testing.assert_allclose(here, [1e-3 / 1.001, 1 / 1.001], rtol=1e-5)


def test_rates_by_time_by_horizon_and_constant():
    assert float(mirror_rate(10, 9)) == pytest.approx(np.sqrt(np.log(10)) / 30)
    assert float(mirror_rate(10, 9, horizon=400)) == pytest.approx(np.sqrt(np.log(10)) / 200)
    assert float(mirror_rate(10, 9, horizon=400, constant=0.05)) == pytest.approx(0.05)
    assert float(mirror_rate(1, 1)) == 0
