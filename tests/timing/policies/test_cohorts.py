"""Who is taken of a cohort that some do not wait for, and does everyone count as much as it should?"""

from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation import Cohort, Uniform
from unalike.timing import (
    Clients,
    Deadline,
    ExponentialTimes,
    FixedTimes,
    LogNormalTimes,
    OverSelection,
    WaitForAll,
    plan_schedule,
    timing_registry,
)

from ..naive import assert_released_once, assert_same, equally, first_of_cohort, naive_steps, random_table
from ..test_timeline import assert_equal_steps, events, named

UNEQUAL = Clients(np.array([0.4, 0.3, 0.2, 0.1]))


def begun(policy, clients):
    policy.begin(clients)
    return policy


def drawn(per_round, clients):
    """Uniform cohorts with weights that are right on average."""
    sampler = Uniform(per_round=per_round)
    return lambda number: sampler.draw(clients.importance, np.random.default_rng([9, number]))


def mean_weights(policy, draw, steps, clients=UNEQUAL):
    total = np.zeros(len(clients.importance))
    for step in islice(begun(policy, clients).steps(draw, 0), steps):
        total[step.clients] += step.weights
    return total / steps


# --------------------------------------------------------------------------------------------- wait for all


def test_a_round_takes_as_long_as_the_slowest_of_its_cohort():
    policy = begun(WaitForAll(hardware=FixedTimes([1, 2, 5, 0.5])), UNEQUAL)
    cohorts = [[0, 3], [2], [1, 3], [0, 1, 2, 3]]

    def draw(number):
        return Cohort(np.array(cohorts[number]), np.arange(1.0, 1 + len(cohorts[number])))

    steps = list(islice(policy.steps(draw, 0), 4))
    assert [step.time for step in steps] == [1, 6, 8, 13]
    for number, (step, cohort) in enumerate(zip(steps, cohorts, strict=True)):
        assert step.clients.tolist() == cohort
        assert step.weights.tolist() == list(range(1, 1 + len(cohort)))
        assert (step.fresh, step.done_with.tolist()) == (True, [number])
    assert steps[3].jobs.tolist() == [1, 1, 1, 2]


def test_everyone_weighs_its_importance():
    schedule = plan_schedule(WaitForAll(hardware=random_table(np.random.default_rng(0), 4)), UNEQUAL, steps=9)
    assert all(np.array_equal(step.weights, UNEQUAL.importance) for step in schedule.steps)


# ------------------------------------------------------------------------------------------------- deadline


def test_late_clients_are_given_up_or_come_later():
    hardware = FixedTimes([1, 2, 3])
    drop, keep = (
        plan_schedule(Deadline(2, late, hardware=hardware), equally(3), steps=4) for late in ("drop", "keep")
    )
    assert events(drop) == [(2 * n + 2, [(0, n), (1, n)]) for n in range(4)]
    assert [step.lost.tolist() for step in drop.steps] == [[2]] * 4
    # The late client comes in every second round; that round ends when it is there, because nobody is late.
    assert [(step.clients.tolist(), step.versions.tolist()) for step in keep.steps] == [
        ([0, 1], [0, 0]),
        ([0, 1, 2], [1, 1, 0]),
        ([0, 1], [2, 2]),
        ([0, 1, 2], [3, 3, 2]),
    ]
    assert [step.time for step in keep.steps] == [2, 4, 6, 8]


def test_a_round_ends_early_when_nobody_is_late():
    schedule = plan_schedule(Deadline(10, hardware=FixedTimes([1, 2, 3])), equally(3), steps=3)
    assert [step.time for step in schedule.steps] == [3, 6, 9]


def test_a_deadline_that_nobody_meets_gives_empty_rounds():
    schedule = plan_schedule(Deadline(0.5, hardware=FixedTimes([1, 2])), equally(2), steps=3)
    assert [(step.time, len(step.clients), step.done_with.tolist()) for step in schedule.steps] == [
        (0.5, 0, [0]),
        (1.0, 0, [1]),
        (1.5, 0, [2]),
    ]


def test_a_job_that_ends_with_the_deadline_is_in_time():
    schedule = plan_schedule(Deadline(0.3, hardware=FixedTimes([0.3, "0.1", 0.31])), equally(3), steps=2)
    assert schedule.counts.tolist() == [2, 2, 0]


@pytest.mark.parametrize(
    "make", [WaitForAll, lambda **o: Deadline(100, **o), lambda **o: OverSelection(4, **o)]
)
def test_patient_policies_are_the_same(make):
    hardware = random_table(np.random.default_rng(2), 4)
    patient, waiting = (
        begun(policy(hardware=hardware), UNEQUAL).steps(drawn(2, UNEQUAL), 0) for policy in (make, WaitForAll)
    )
    for one, other in islice(zip(patient, waiting, strict=True), 30):
        assert_equal_steps(one._replace(weights=0), other._replace(weights=0))
        np.testing.assert_allclose(one.weights, other.weights)


# ------------------------------------------------------------------------------------------- over-selection


def test_the_first_results_are_taken_and_the_rest_is_given_up():
    policy = begun(OverSelection(2, hardware=FixedTimes([1, 2, 3, 4])), UNEQUAL)
    steps = list(islice(policy.steps(named([0, 2, 3]), 0), 3))
    assert [(step.clients.tolist(), step.time, step.lost.tolist()) for step in steps] == [
        ([0, 2], 3, [3]),
        ([0, 2], 6, [3]),
        ([0, 2], 9, [3]),
    ]
    assert all(step.fresh for step in steps)


TIES = "jobs that end at the same time as the last one taken stay under way"


def test_of_clients_that_are_equally_quick_the_rest_is_given_up_too():
    schedule = plan_schedule(OverSelection(2), equally(5), steps=3)
    assert events(schedule) == [(n + 1, [(0, n), (1, n)]) for n in range(3)]
    assert [step.lost.tolist() for step in schedule.steps] == [[2, 3, 4]] * 3


def test_over_selection_equals_a_naive_simulation_also_with_ties():
    hardware = random_table(np.random.default_rng(0), 6)
    policy = OverSelection(3, hardware=hardware)
    expected = naive_steps(first_of_cohort(3), hardware.duration, 6, 60)
    steps = plan_schedule(policy, equally(6), steps=60).steps
    assert_released_once(steps, expected)
    assert_same(steps, expected)


# -------------------------------------------------------------------------------------------------- weights

TIMES = [1.2, 0.9, 0.6, 0.3]
RANDOM = ExponentialTimes(TIMES)


@pytest.mark.parametrize(
    "late",
    [
        "drop",
        "keep",
    ],
)
@pytest.mark.parametrize("weights", ["corrected", "online"])
def test_everyone_counts_as_much_as_it_should_in_spite_of_a_deadline(late, weights):
    policy = Deadline(0.7, late, hardware=RANDOM, weights=weights)
    found = mean_weights(policy, drawn(3, UNEQUAL), 3000)
    np.testing.assert_allclose(found, UNEQUAL.importance, rtol=0.12)


def test_a_client_that_comes_every_second_round_weighs_twice():
    policy = Deadline(0.5, "keep", hardware=FixedTimes([1, 0.4]))
    schedule = plan_schedule(policy, equally(2), steps=1000)
    assert schedule.counts.tolist() == [500, 1000]
    np.testing.assert_allclose(schedule.expected_weights, [0.5, 0.5], rtol=0.02)


@pytest.mark.parametrize("hardware", [RANDOM, LogNormalTimes(TIMES)])
def test_everyone_counts_as_much_as_it_should_in_spite_of_over_selection(hardware):
    found = mean_weights(OverSelection(2, hardware=hardware), drawn(3, UNEQUAL), 3000)
    np.testing.assert_allclose(found, UNEQUAL.importance, rtol=0.12)


def test_long_tails_and_a_deadline_are_corrected_for():
    found = mean_weights(Deadline(0.7, hardware=LogNormalTimes(TIMES)), drawn(3, UNEQUAL), 3000)
    np.testing.assert_allclose(found, UNEQUAL.importance, rtol=0.12)


def test_lost_results_are_made_up_for_in_a_cohort():
    policy = Deadline(0.7, hardware=RANDOM, dropout=0.3)
    found = mean_weights(policy, drawn(3, UNEQUAL), 3000)
    np.testing.assert_allclose(found, UNEQUAL.importance, rtol=0.12)


def test_known_chances_are_used_from_the_first_round_on():
    policy = begun(Deadline(0.7, hardware=RANDOM), UNEQUAL)
    step = next(step for step in policy.steps(named([0, 1, 2, 3]), 0) if len(step.clients))
    np.testing.assert_allclose(step.weights, 0.25 / -np.expm1(-0.7 / np.array(TIMES)[step.clients]))


@pytest.mark.parametrize("make", [lambda **o: Deadline(0.7, **o), lambda **o: OverSelection(2, **o)])
def test_identical_weights_are_the_cohorts_own_and_favor_the_quick(make):
    policy = make(hardware=RANDOM, weights="identical")
    schedule = plan_schedule(policy, equally(4), steps=1500)
    assert {float(weight) for step in schedule.steps for weight in step.weights} == {0.25}
    assert (np.diff(schedule.expected_weights) > 0).all()


def test_counted_corrections_are_one_success_and_one_job_ahead():
    """(jobs + 1) / (arrivals + 1), so that a client which always comes is never corrected."""
    policy = begun(OverSelection(1, hardware=random_table(np.random.default_rng(5), 3)), equally(3))
    sent, came = np.zeros(3), np.zeros(3)
    for step in islice(policy.steps(named([0, 1, 2]), 0), 40):
        busy = policy.jobs.version >= 0  # ties are still under way
        sent = policy.jobs.begun.copy()
        came[step.clients] += 1
        np.testing.assert_allclose(step.weights, (sent + 1)[step.clients] / (came + 1)[step.clients] / 3)
        assert not busy[step.clients].any()


def test_old_results_of_late_clients_are_discounted():
    policy = Deadline(2, "keep", hardware=FixedTimes([1, 3]), staleness="polynomial:1", weights="identical")
    schedule = plan_schedule(policy, equally(2), steps=2)
    assert [step.weights.tolist() for step in schedule.steps] == [[0.5], [0.5, 0.25]]


def test_a_result_has_the_weight_of_the_cohort_that_it_was_drawn_with():
    policy = begun(Deadline(1, "keep", hardware=FixedTimes([2]), weights="identical"), equally(1))
    steps = policy.steps(lambda number: Cohort(np.array([0]), np.array([1.0 + number])), 0)
    assert [step.weights.tolist() for step in islice(steps, 4)] == [[], [1.0], [], [3.0]]


# --------------------------------------------------------------------------------------------------- errors


def test_policies_for_cohorts_are_made_by_name():
    assert timing_registry.make("wait-for-all") == WaitForAll()
    assert timing_registry.make("deadline:1.5,keep") == Deadline(1.5, "keep")
    assert timing_registry.make("deadline:1/3") == Deadline("1/3")
    assert timing_registry.make("over-selection:3") == OverSelection(3)
    assert OverSelection().weights == "online"


def test_mistakes_are_explained():
    with pytest.raises(ConfigError, match="unknown way with late clients 'dropp'; did you mean 'drop'"):
        Deadline(1, "dropp")
    with pytest.raises(ConfigError, match="over-selection must take at least one result, but takes 0"):
        OverSelection(0)
    with pytest.raises(ConfigError, match="times must be positive, but one is 0"):
        begun(Deadline(0), equally(2))
    with pytest.raises(ConfigError, match="dropout must be at least 0 and below 1"):
        Deadline(1, dropout=1)


@pytest.mark.parametrize(
    "make", [WaitForAll, lambda **o: Deadline(1, **o), lambda **o: OverSelection(1, **o)]
)
def test_unknown_weights_are_explained(make):
    with pytest.raises(ConfigError, match="unknown weights 'same'"):
        begun(make(weights="same"), equally(2))


def test_taking_more_than_a_cohort_has_is_waiting_for_all():
    one, other = (
        plan_schedule(policy, equally(3), steps=5)
        for policy in (
            OverSelection(10, hardware=FixedTimes([1, 2, Fraction(5, 3)])),
            WaitForAll(hardware=FixedTimes([1, 2, Fraction(5, 3)])),
        )
    )
    for a, b in zip(one.steps, other.steps, strict=True):
        assert_equal_steps(a, b)
