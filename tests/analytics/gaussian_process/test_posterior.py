"""Is a prior conditioned as it should be, with all rows, the nearest, and none?"""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from unalike.analytics.gaussian_process.committee import combine_experts
from unalike.analytics.gaussian_process.kernels import Kernel
from unalike.analytics.gaussian_process.posterior import Posterior
from unalike.errors import ConfigError, DataError

X, Y = np.array([[0.0], [0.5], [1.0]]), np.array([1.0, -1.0, 0.5])
PLACES = np.array([[0.25], [0.8]])
GOLDEN = {
    "rbf": ((-0.237340, -0.370065), (0.025020, 0.024353)),
    "matern32": ((-0.089644, -0.188180), (0.170302, 0.158593)),
}


def smooth(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.random((n, 1))
    return x, np.sin(8 * x[:, 0]) + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("name", GOLDEN)
def test_known_predictions_come_out(name):
    kernel = Kernel(name)
    found = Posterior(kernel, kernel.vector(1.0, 0.1, 0.5), X, Y).predict(PLACES)
    np.testing.assert_allclose(found.mean, GOLDEN[name][0], atol=1e-6)
    np.testing.assert_allclose(found.variance, GOLDEN[name][1], atol=1e-6)
    np.testing.assert_allclose(found.std() ** 2 - found.std(noisy=False) ** 2, 0.01)


def test_it_agrees_with_scikit_learn():
    kernel, (x, y) = Kernel("matern52"), smooth(40)
    ours = Posterior(kernel, kernel.vector(1.5, 0.2, 0.3), x, y).predict(PLACES)
    prior = ConstantKernel(1.5**2) * Matern(0.3, nu=2.5)
    theirs = GaussianProcessRegressor(prior, alpha=0.2**2, optimizer=None).fit(x, y)
    mean, std = theirs.predict(PLACES, return_std=True)
    np.testing.assert_allclose(ours.mean, mean, rtol=1e-5)
    np.testing.assert_allclose(ours.std(noisy=False), std, rtol=1e-5)
    loss = Posterior(kernel, kernel.vector(1.5, 0.2, 0.3), x, y).loss()
    assert loss == pytest.approx(-theirs.log_marginal_likelihood(), rel=1e-5)


def test_without_rows_there_is_the_prior():
    kernel = Kernel("rbf")
    found = Posterior(kernel, kernel.vector(2.0), np.zeros((0, 1)), np.zeros(0)).predict(PLACES)
    np.testing.assert_allclose(found.mean, 0)
    np.testing.assert_allclose(found.variance, 4)


def test_the_nearest_rows_say_almost_what_all_do():
    kernel, (x, y) = Kernel("rbf"), smooth()
    params = kernel.vector(1.0, 0.1, 0.2)
    every = Posterior(kernel, params, x, y).predict(PLACES)
    near = Posterior(kernel, params, x, y, most_rows=100, neighbors=60)
    assert near.way == "nearest"
    found = near.predict(PLACES)
    np.testing.assert_allclose(found.mean, every.mean, atol=0.05)
    assert (found.variance >= every.variance - 1e-9).all()
    subset = Posterior(kernel, params, x, y, "subset", most_rows=100).predict(PLACES)
    assert (subset.variance >= every.variance - 1e-9).all()


def test_rows_twice_are_conditioned_on_with_jitter_and_impossible_ones_refused():
    kernel = Kernel("rbf")
    twice = np.repeat(np.linspace(0, 1e-6, 30), 2)[:, None]
    found = Posterior(kernel, np.log([1.0, 1e-9, 1.0]), twice, np.ones(60)).predict(PLACES)
    assert np.isfinite(found.mean).all()
    with np.errstate(all="ignore"), pytest.raises(DataError, match="not positive definite"):
        Posterior(kernel, np.log([1e200, 1e-9, 1.0]), twice, np.ones(60)).predict(PLACES)
    with pytest.raises(ConfigError, match="unknown conditioning"):
        Posterior(kernel, kernel.vector(), X, Y, "some")


def test_a_committee_of_one_is_that_expert_only_where_it_is_sure():
    kernel, (x, y) = Kernel("rbf"), smooth(60)
    params = kernel.vector(1.0, 0.1, 0.2)
    halves = [Posterior(kernel, params, x[part], y[part]) for part in (slice(0, 30), slice(30, 60))]
    inside, outside = np.array([[0.5]]), np.array([[40.0]])
    together = combine_experts(halves, inside)
    every = Posterior(kernel, params, x, y).predict(inside)
    assert abs(together.mean - every.mean)[0] < 0.1
    assert together.variance[0] < halves[0].predict(inside).variance[0]
    far = combine_experts(halves, outside)
    np.testing.assert_allclose([far.mean[0], far.variance[0]], [0, 1], atol=1e-9)
