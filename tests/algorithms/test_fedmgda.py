"""Does FedMGDA+ find the mixture of least norm, and step along it?"""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from unalike import ConfigError
from unalike.algorithms import FedMGDAPlus, LocalWork
from unalike.algorithms.fedmgda import common_direction

from . import naive

SIZES = [6, 9, 4]
WORK = LocalWork(epochs=1, batch_size=3, shuffle=False)
IMPORTANCE = np.array(SIZES) / sum(SIZES)


def solve(units, usual, epsilon):
    """The same problem by a general solver."""
    bounds = [(max(p - epsilon, 0), min(p + epsilon, 1)) for p in usual]
    found = scipy.optimize.minimize(
        lambda lam: ((lam @ units) ** 2).sum(),
        usual,
        bounds=bounds,
        constraints={"type": "eq", "fun": lambda lam: lam.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return found.x


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
def test_the_mixture_has_the_least_norm_within_its_bounds(epsilon):
    rng = np.random.default_rng(3)
    for _ in range(4):
        units = rng.normal(size=(5, 8)) + 0.5
        units /= np.linalg.norm(units, axis=1, keepdims=True)
        usual = rng.dirichlet(np.ones(5))
        found = np.asarray(common_direction(jnp.asarray(units @ units.T), jnp.asarray(usual), epsilon))
        best = solve(units, usual, epsilon)
        assert np.linalg.norm(found @ units) == pytest.approx(np.linalg.norm(best @ units), abs=1e-4)
        assert found.sum() == pytest.approx(1, abs=1e-5)
        assert np.abs(found - usual).max() <= epsilon + 1e-5


def test_rejected_uploads_have_no_part():
    mixture = common_direction(jnp.diag(jnp.array([1.0, 1.0, 0.0])), jnp.array([0.5, 0.5, 0.0]), 1.0)
    assert np.allclose(mixture, [0.5, 0.5, 0.0], atol=1e-5)


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_two_rounds_equal_the_paper(federation, task, epsilon):
    theta = naive.zeros()
    run = naive.train(federation, task, FedMGDAPlus(work=WORK, epsilon=epsilon), 2)
    for number in range(2):
        rows = [federation.train.client(k) for k in range(len(SIZES))]
        ends = [naive.descend(theta, x, y, naive.in_order(len(x), 3), 0.1) for x, y in rows]
        moves = np.array([(theta - end).ravel() for end in ends])
        lengths = np.linalg.norm(moves, axis=1)
        units = moves / lengths[:, None]
        lam = solve(units, IMPORTANCE, epsilon)
        theta = theta - (IMPORTANCE @ lengths) * (lam @ units).reshape(theta.shape)
        assert np.allclose(naive.flat(run.history.state(number + 1)["params"]), theta, atol=2e-4)


def test_bad_settings_are_refused():
    with pytest.raises(ConfigError, match="epsilon"):
        FedMGDAPlus(epsilon=1.5)
