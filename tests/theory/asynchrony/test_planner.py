"""Are bounds, limits and counts those of the theory, and are they ordered as it says?"""

import math
from dataclasses import replace

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.theory.asynchrony.objective import Constants, constants, window
from unalike.theory.asynchrony.planner import (
    TrainingSetup,
    aggregations,
    asynchronous_bound,
    fedfix_bound,
    gap_terms,
    largest_learning_rate,
    step_conditions,
    synchronous_bound,
)
from unalike.timing import (
    Asynchronous,
    Clients,
    ExponentialTimes,
    FedBuff,
    FedFix,
    FixedTimes,
    Synchronous,
    WaitForAll,
    plan_schedule,
)

SYNC = Constants(alpha=1.0, beta=0.0, longest=1.0, largest=0.1, staleness=0, window=1)
LATE = Constants(alpha=0.0, beta=2.0, longest=2.0, largest=2.0, staleness=9, window=10)
COURSE = TrainingSetup(aggregations=400, local_steps=4, smoothness=2.0, residual=3.0, initial_distance=5.0)


# Step sizes.


def test_the_largest_learning_rate_is_that_of_the_theory():
    assert largest_learning_rate(SYNC, COURSE) == pytest.approx(1 / (48 * 4 * 2) / 3)
    assert largest_learning_rate(LATE, COURSE) == pytest.approx(1 / (48 * 4 * 2) / (3 * 4 * 10))
    slow_server = replace(COURSE, server_learning_rate=0.01)
    assert largest_learning_rate(SYNC, slow_server) == pytest.approx(1 / (48 * 4 * 2))


def test_it_meets_every_condition_of_the_proof():
    rng = np.random.default_rng(0)
    for _ in range(200):
        known = replace(SYNC, longest=1 + 5 * rng.random(), staleness=int(rng.integers(0, 200)))
        course = TrainingSetup(
            aggregations=10,
            local_steps=int(rng.integers(1, 100)),
            smoothness=float(10 ** rng.uniform(-2, 2)),
            server_learning_rate=float(10 ** rng.uniform(-2, 1)),
        )
        rate = largest_learning_rate(known, course)
        assert step_conditions(known, replace(course, learning_rate=rate))


def test_each_condition_can_fail_alone():
    fine = replace(COURSE, learning_rate=1e-5)
    assert step_conditions(LATE, fine)
    many = step_conditions(SYNC, replace(fine, local_steps=10**5, server_learning_rate=1e-4))
    assert (many.local, many.server, many.stale) == (False, True, True)
    long = step_conditions(SYNC, replace(fine, server_learning_rate=1000.0))
    assert (long.local, long.server, long.stale) == (True, False, True)
    old = step_conditions(replace(SYNC, staleness=10**4), fine)
    assert (old.local, old.server, old.stale) == (True, True, False)


def test_limits_fall_with_age_with_longer_steps_and_with_local_work():
    rates = [largest_learning_rate(replace(LATE, staleness=age), COURSE) for age in (0, 1, 5, 50)]
    assert rates == sorted(set(rates), reverse=True)
    rates = [largest_learning_rate(replace(LATE, longest=rho), COURSE) for rho in (1.0, 1.5, 4.0)]
    assert rates == sorted(set(rates), reverse=True)
    rates = [largest_learning_rate(LATE, replace(COURSE, local_steps=k)) for k in (1, 2, 20)]
    assert rates == sorted(set(rates), reverse=True)


# Terms.


def test_terms_are_those_of_the_theorem():
    course = replace(COURSE, learning_rate=0.01, server_learning_rate=2.0, surrogate_gap=0.5)
    known = replace(LATE, alpha=0.25)
    terms = gap_terms(known, course)
    late = 0.02 + 0.02**2 * 4**2 * 9**2
    assert terms.initial == pytest.approx(5 / (0.02 * 4 * 400))
    assert terms.local == pytest.approx(0.01**2 * 3**2 * (0.5 + 3))
    assert terms.together == pytest.approx(0.25 * late * (0.5 + 2.0 * 3))
    assert terms.alone == pytest.approx(2.0 * late * (0.5 + 3))
    assert terms.unequal == pytest.approx(0.02 * 9 * 4)
    assert terms.total == pytest.approx(
        terms.initial + terms.local + terms.together + terms.alone + terms.unequal
    )
    assert gap_terms(replace(known, window=None), course).unequal == 0.5


def test_waiting_with_one_local_step_pays_only_for_distance_and_noise():
    terms = gap_terms(SYNC, TrainingSetup(aggregations=100, learning_rate=0.1))
    assert (terms.local, terms.alone, terms.unequal) == (0, 0, 0)
    assert terms.total == pytest.approx(1 / (0.1 * 100) + 0.1 * 0.1)


def test_a_policy_without_alpha_has_no_bound():
    with pytest.raises(ConfigError, match="needs alpha and beta"):
        gap_terms(replace(SYNC, alpha=None), COURSE)


def test_the_usual_learning_rate_is_one_over_the_root_of_all_local_steps():
    assert COURSE.local_rate == pytest.approx(1 / 40)
    assert replace(COURSE, server_learning_rate=3.0).step == pytest.approx(3 / 40)


# The three bounds.


def test_bounds_are_those_that_were_printed():
    course = replace(COURSE, surrogate_gap=0.5)
    k, n, root = 4, 400, 40
    assert synchronous_bound(course, 10) == pytest.approx(5 / root + 3 / n * 3 + 3 / (10 * root))
    late = 5 / root + 3 / n * 3 + 2 * 3.5 / root + 8 * k / n * 100 * 3.5 + 6 / root
    assert asynchronous_bound(course, 10, slowdown=2.0, window=7) == pytest.approx(late)
    fixed = 5 / root + 3 / n * 3.5 + (1 / root + k / n * 9) * (0.5 + 3 * 3 / 10) + 5 / root
    assert fedfix_bound(course, 10, slowest=3, window=6) == pytest.approx(fixed)


@pytest.mark.parametrize("clients", [10, 20, 50])
@pytest.mark.parametrize("steps", [1, 10])
@pytest.mark.parametrize("gap", [0.0, 1.0])
def test_for_equally_many_steps_waiting_is_ahead_of_fedfix_which_is_ahead_of_async(clients, steps, gap):
    everyone = Clients(np.full(clients, 1 / clients))
    length = window(Asynchronous(hardware="spread:80"), everyone)
    course = TrainingSetup(aggregations=1000, local_steps=steps, surrogate_gap=gap)
    bounds = [
        synchronous_bound(course, clients),
        fedfix_bound(course, clients, slowest=2, window=2),
        asynchronous_bound(course, clients, slowdown=5.0, window=length),
    ]
    assert bounds == sorted(set(bounds))


def test_one_step_of_everyone_is_the_common_limit_of_fedfix_and_waiting():
    fixed = fedfix_bound(replace(COURSE, surrogate_gap=0.0), 10, slowest=1, window=1)
    extra = COURSE.local_steps / COURSE.aggregations * COURSE.residual / 10  # its age is counted as one
    assert fixed == pytest.approx(synchronous_bound(COURSE, 10) + extra)


def test_bounds_fall_with_more_steps():
    for bound in (
        lambda course: synchronous_bound(course, 10),
        lambda course: fedfix_bound(course, 10, 2, 2),
        lambda course: asynchronous_bound(course, 10, 5.0, 10),
        lambda course: gap_terms(LATE, course).total,
    ):
        values = [bound(TrainingSetup(aggregations=n, local_steps=2)) for n in (10, 100, 10_000)]
        assert values == sorted(set(values), reverse=True)


# Counting steps.


@pytest.mark.parametrize("time", [1, "2.1", 7, 10, "33.3"])
@pytest.mark.parametrize(
    "make",
    [
        WaitForAll,
        Asynchronous,
        lambda **rest: FedFix("0.7", **rest),
        lambda **rest: FedBuff(2, weights="identical", **rest),
        lambda **rest: Asynchronous(dropout=0.3, weights="identical", **rest),
    ],
    ids=["all", "async", "fedfix", "fedbuff", "lossy"],
)
@pytest.mark.parametrize(
    "hardware",
    [FixedTimes(["2.1", "0.7", "0.3"]), ExponentialTimes([1.0, 0.5, 0.3])],
    ids=["fixed", "random"],
)
def test_steps_in_a_time_are_those_of_the_schedule(make, hardware, time):
    timing, clients = make(hardware=hardware), Clients(np.full(3, 1 / 3))
    planned = plan_schedule(timing, clients, until=float(time) + 1e-9)
    assert aggregations(timing, clients, time) == len(planned.steps)


def test_async_takes_more_steps_than_waiting_by_the_sum_of_speeds():
    clients = Clients(np.full(10, 0.1))
    waiting, late, fixed = (
        aggregations(timing, clients, 9 * 10**6)
        for timing in (
            WaitForAll(hardware="spread:80"),
            Asynchronous(hardware="spread:80"),
            FedFix(0.5, hardware="spread:80"),
        )
    )
    assert late / waiting == pytest.approx(sum(45 / ticks for ticks in range(9, 46, 4)), abs=1e-5)
    assert fixed == 2 * waiting
    assert aggregations(Synchronous(), clients, 7.5) == 7


def test_the_planner_takes_the_constants_of_a_policy():
    clients = Clients(np.full(4, 0.25))
    late = gap_terms(constants(Asynchronous(hardware="equal"), clients), COURSE).total
    waiting = gap_terms(constants(WaitForAll(hardware="equal"), clients), COURSE).total
    assert late > waiting


@pytest.mark.parametrize("name", ["aggregations", "local_steps", "learning_rate", "smoothness"])
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_numbers_that_must_be_positive_are_checked(name, value):
    with pytest.raises(ConfigError, match=f"{name} must be above 0, but is {value}"):
        TrainingSetup(**{"aggregations": 10, name: value})


def test_distances_may_vanish_but_not_be_negative():
    TrainingSetup(aggregations=1, residual=0, surrogate_gap=0, initial_distance=0)
    with pytest.raises(ConfigError, match="residual must be at least 0, but is -1"):
        TrainingSetup(aggregations=1, residual=-1)
