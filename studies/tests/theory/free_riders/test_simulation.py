"""Do the recursions do what the closed forms say?"""

import numpy as np
import pytest

from unalike import ConfigError
from unalike.theory.free_riders.local_process import local_process
from unalike.theory.free_riders.variance import variance
from unalike_studies.theory.free_riders.simulation import (
    Problem,
    last_difference,
    predicted_difference,
    simulate,
)


def problem(claimed=(600.0,), phi=0.0, mu=None, **rest):
    rng = np.random.default_rng(3)
    sizes = rng.integers(100, 900, 5).astype(float)
    keep, noise = rng.uniform(0.2, 0.8, 5), rng.uniform(0.05, 0.2, 5)
    if mu is not None:
        keep, noise = local_process(rng.uniform(0.5, 2, 5), 0.1, sizes / 20, 1.0, 100, mu)
    claimed = np.array(claimed, float)
    given = (sizes, keep, rng.normal(size=5), noise, claimed, np.full(len(claimed), phi))
    return Problem(*given, **{"start": 2.0, **rest})


@pytest.mark.parametrize("mu", [None, 0.0, 1.0])
@pytest.mark.parametrize("phi", [0.0, 0.3])
def test_the_difference_is_the_predicted_one_on_every_path(mu, phi):
    told = problem((600.0, 200.0), phi, mu, disguise_fades=lambda t: 1 / max(t, 1))
    paths = simulate(told, 60, replicas=4)
    assert np.abs(predicted_difference(told, paths) - (paths.ridden - paths.fair)).max() < 1e-12


def test_the_recursion_is_client_by_client_averaging():
    """A naive second way, with every client's own model."""
    told = problem((500.0,))
    paths = simulate(told, 10)
    weights, theta = told.sizes / told.sizes.sum(), 2.0
    for t in range(10):
        models = told.keep * (theta - told.minima) + told.minima
        theta = weights @ models + paths.fair_noise[t, 0]
        assert paths.fair[t + 1, 0] == pytest.approx(theta)


@pytest.mark.parametrize(("claimed", "phi"), [((600.0,), 0.0), ((3000.0,), 0.3), ((27000.0,), 0.0)])
def test_the_variance_is_the_correct_one(claimed, phi):
    told = problem(claimed, phi)
    apart = last_difference(told, 800, 20000, seed=1)
    expected = variance(told.sizes, told.keep, told.noise, told.claimed, told.amplitude).total
    assert apart.var() == pytest.approx(expected, rel=0.04)
    assert abs(apart.mean()) < 4 * apart.std() / np.sqrt(20000)


def test_keeping_paths_or_not_gives_the_same_distribution():
    told = problem((600.0,), 0.2)
    paths = simulate(told, 200, 4000, seed=2)
    apart = last_difference(told, 200, 4000, seed=3)
    assert (paths.ridden - paths.fair)[-1].var() == pytest.approx(apart.var(), rel=0.1)


def test_noise_that_fades_leaves_nothing():
    told = problem((3000.0,), 0.3, noise_fades=lambda t: 1 / (t + 1), disguise_fades=lambda t: 1 / (t + 1))
    constant = variance(told.sizes, told.keep, told.noise, told.claimed, told.amplitude).total
    assert last_difference(told, 400, 2000).var() < 0.01 * constant


def test_a_problem_is_checked():
    three = np.ones(3)
    with pytest.raises(ConfigError, match="one number per honest client"):
        Problem(three, three, three[:2], three, three, three)
