"""Is the least bound of a scheme the least one, and are schemes ordered as their variances are?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike.advice import advise_sampling
from unalike.advice.constants import GradientConstants
from unalike.advice.sampling_bounds import least_bounds
from unalike.errors import ConfigError

CONSTANTS = GradientConstants(
    clients=6,
    smoothness=2.0,
    smoothness_is_bound=True,
    convexity=0.1,
    gradient_variance=1.0,
    squared_gradient=4.0,
    heterogeneity=0.2,
    dissimilarity=0.5,
    initial_gap=1.0,
    squared_weights=1 / 6,
    optima_distance=0.3,
    initial_distance=2.0,
    residual=0.4,
)
IMPORTANCE = np.array([1, 2, 3, 4, 5, 6]) / 21
ADVICE = advise_sampling(IMPORTANCE, 2, sizes=[1, 2, 3, 4, 5, 6])


def test_no_step_has_a_smaller_bound():
    found = {one.scheme: one for one in least_bounds(ADVICE.statistics, CONSTANTS, 5, 50)}
    for name, one in found.items():
        for factor in np.geomspace(0.01, 100, 31).tolist():
            other = CONSTANTS.sampling_bound(ADVICE.statistics[name], factor * one.learning_rate, 5, 50)
            assert not other.conditions or other.total >= one.bound * (1 - 1e-2)


def test_everyone_is_best_and_the_order_is_that_of_the_bounds():
    found = least_bounds(ADVICE.statistics, CONSTANTS)
    values = [one.bound for one in found]
    assert found[0].scheme == "full"
    assert values == sorted(values)
    assert {one.scheme for one in found} <= {
        name for name, known in ADVICE.statistics.items() if known.unbiased
    }


def test_more_rounds_lower_every_bound():
    short, long = (
        {one.scheme: one.bound for one in least_bounds(ADVICE.statistics, CONSTANTS, 5, rounds)}
        for rounds in (10, 1000)
    )
    assert all(long[name] < 0.5 * short[name] for name in short)


def test_flat_losses_have_no_bound():
    with pytest.raises(ConfigError, match="not curved"):
        least_bounds(ADVICE.statistics, replace(CONSTANTS, smoothness=0.0))
