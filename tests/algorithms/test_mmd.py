"""Is MMD regularization what its formula says, and does it make predictions of both sets alike?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import unalike
from unalike.algorithms import MMD, WERM, LocalWork, Optimizer
from unalike.algorithms.mmd import discrepancy, gaussian_kernel

from . import naive


def kernel(f, g, width):
    return np.exp(-((f - g) ** 2).sum() / (2 * width**2))


def between(own, other, width):
    """The squared discrepancy as three means over pairs."""
    mean = lambda a, b: np.mean([[kernel(f, g, width) for g in b] for f in a])  # noqa: E731
    return mean(own, own) + mean(other, other) - 2 * mean(own, other)


def test_the_discrepancy_is_three_means_over_pairs_of_each_class():
    rng = np.random.default_rng(0)
    points, y = rng.dirichlet(np.ones(4), 12), np.array([0, 0, 0, 1, 1, 2] * 2)
    own = np.array([1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1], float)  # class 2 has no row of the other set
    other = 1 - own
    other[2] = 0.0  # a row of no set
    sets = [(points[(y == c) & (own > 0)], points[(y == c) & (other > 0)]) for c in range(2)]
    kernels = gaussian_kernel(jnp.asarray(points, jnp.float32), 0.7)
    same = jnp.asarray(y[:, None] == y[None, :])
    found = discrepancy(kernels, jnp.asarray(2 * own), jnp.asarray(3 * other), same)
    expected = np.mean([between(a, b, 0.7) for a, b in sets])
    assert float(found) == pytest.approx(expected, abs=1e-5)
    whole = discrepancy(kernels, jnp.asarray(own), jnp.asarray(other), jnp.ones((12, 12), bool))
    assert float(whole) == pytest.approx(between(points[own > 0], points[other > 0], 0.7), abs=1e-5)
    assert float(discrepancy(kernels, jnp.asarray(own), jnp.zeros(12), same)) == 0
    assert np.isfinite(
        jax.grad(lambda p: discrepancy(gaussian_kernel(p, 1.0), own, other, same))(points)
    ).all()


def test_without_weight_it_is_werm_on_training_rows_alone():
    shared = {"work": LocalWork(epochs=2, batch_size=4), "optimizer": Optimizer("sgd", 0.3)}
    found, other = (
        naive.flat(naive.train(naive.federation([9, 8]), naive.task(), method, 2).message)
        for method in (MMD(lam=0.0, **shared), WERM(weight=1.0, **shared))
    )
    np.testing.assert_allclose(found, other, atol=1e-6)


@pytest.mark.parametrize("by_class", [True, False])
def test_predictions_of_both_sets_become_more_alike_with_the_weight(by_class):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 30)), rng.integers(0, 3, 80)
    federation = unalike.Federation.from_owners(x, y, np.zeros(80, int), test_fraction=0.0)
    task = unalike.Task.classification(unalike.models.mlp(32, input_shape=(30,), outputs=3), 3)
    own, other = np.arange(80) < 40, np.arange(80) >= 40
    same = (federation.train.y[:, None] == federation.train.y[None, :]) | (not by_class)
    apart = []
    for lam in (0.0, 3.0):
        method = MMD(
            work=LocalWork(epochs=1, batch_size=40),
            optimizer=Optimizer("sgd", 0.2),
            lam=lam,
            by_class=by_class,
        )
        params = unalike.train(federation, task, method, rounds=120, evaluate_every=0).message
        chances = jax.nn.softmax(task.apply(params, jnp.asarray(federation.train.x)))
        apart.append(float(discrepancy(gaussian_kernel(chances, 1.0), own * 1.0, other * 1.0, same)))
    assert apart[1] < 0.7 * apart[0]


def test_what_it_cannot_do_is_refused():
    for settings, says in (
        ({"lam": -1.0}, "lam must not be negative, but is -1"),
        ({"bandwidth": 0.0}, "bandwidth must be above 0, but is 0"),
        ({"reference_fraction": 0.0}, "reference_fraction must be above 0"),
    ):
        with pytest.raises(unalike.ConfigError, match=says):
            MMD(**settings)
    task = unalike.Task.regression(unalike.models.linear(input_shape=(4,), outputs=1))
    with pytest.raises(unalike.ConfigError, match="mmd is for classifications"):
        MMD().init_client(task, {}, jax.random.key(0))
