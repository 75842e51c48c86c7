"""Do the bounds of timings order policies as the theory does, with measured constants?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike.advice.timing import candidates
from unalike.advice.timing_bounds import timing_bounds
from unalike.timing import Clients, FixedTimes

from .test_sampling_bounds import CONSTANTS

TIMES = FixedTimes([1.0, 0.8, 0.6, 0.5])
CLIENTS = Clients(np.full(4, 0.25))
POLICIES = candidates(TIMES, 4)


@pytest.fixture(scope="module")
def bounds():
    return {one.policy: one for one in timing_bounds(POLICIES, CLIENTS, CONSTANTS, 200, 5)}


def test_steps_are_those_of_the_schedule_and_only_waiting_has_no_bias(bounds):
    assert bounds["wait-for-all"].aggregations == 200
    assert bounds["fedfix:0.5"].aggregations == 400
    assert bounds["wait-for-all"].bias == 0
    assert bounds["async"].bias > 0


def test_staleness_allows_shorter_steps_only(bounds):
    assert bounds["async"].learning_rate < bounds["wait-for-all"].learning_rate


def test_more_time_never_has_a_larger_bound(bounds):
    for later in timing_bounds(POLICIES, CLIENTS, CONSTANTS, 2000, 5):
        now = bounds[later.policy]
        assert later.gap is None if now.gap is None else later.gap <= now.gap


def test_the_bias_grows_with_what_clients_would_gain_alone(bounds):
    unlike = replace(CONSTANTS, heterogeneity=2 * CONSTANTS.heterogeneity)
    for one in timing_bounds(POLICIES, CLIENTS, unlike, 200, 5):
        assert one.bias == pytest.approx(2 * bounds[one.policy].bias)
