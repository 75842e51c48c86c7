"""Does a round not care how many cores it has, who else is there, or which shapes it was compiled for?"""

import jax
import numpy as np
import pytest

from unalike.algorithms import FedAvg, LocalWork, Scaffold
from unalike.core.pytrees import largest_difference
from unalike.engine import LocalEngine, Setting

from .. import toys

SIZES = [3, 6, 2, 4, 5]


@pytest.fixture(scope="module")
def federation():
    return toys.federation(SIZES)


@pytest.fixture(scope="module")
def task():
    return toys.logistic_task()


def trained(federation, task, algorithm, steps, devices=None, seed=1):
    setting = Setting(federation, task, algorithm, seed, None, devices)
    state, memories, _ = toys.start(setting)
    states, _ = toys.advance(LocalEngine(setting), setting, steps, state, memories)
    return states[-1]


def test_one_core_and_all_cores_agree(federation, task):
    if jax.device_count() < 2:
        pytest.skip("needs two devices")
    steps = [toys.step(0, np.arange(5), federation.importance), toys.step(1, [3, 0, 4, 2, 1], [0.2] * 5)]
    one, two = (trained(federation, task, Scaffold(), steps, devices) for devices in (1, 2))
    assert largest_difference(one, two) < 1e-6


@pytest.mark.exact
def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(federation, task):
    steps = [toys.step(0, np.arange(5), federation.importance)]
    algorithm = FedAvg(work=LocalWork(steps=2, batch_size=2))
    one, again, other = (trained(federation, task, algorithm, steps, seed=seed) for seed in (1, 1, 2))
    assert largest_difference(one, again) == 0.0
    assert largest_difference(one, other) > 1e-6


def test_the_order_of_the_cohort_does_not_matter(federation, task):
    algorithm = FedAvg(work=LocalWork(steps=2, batch_size=2))
    weights = np.array([0.1, 0.2, 0.7])
    one = trained(federation, task, algorithm, [toys.step(0, [1, 3, 4], weights)])
    two = trained(federation, task, algorithm, [toys.step(0, [4, 1, 3], weights[[2, 0, 1]])])
    assert largest_difference(one, two) < 1e-6


def test_a_client_of_weight_zero_changes_nothing(federation, task):
    algorithm = FedAvg(work=LocalWork(steps=2, batch_size=2))
    with_it = trained(federation, task, algorithm, [toys.step(0, [1, 3, 4], [0.4, 0.6, 0.0])])
    without = trained(federation, task, algorithm, [toys.step(0, [1, 3], [0.4, 0.6])])
    assert largest_difference(with_it, without) < 1e-6
