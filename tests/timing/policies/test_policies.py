"""Do asynchronous, clocked and buffered servers take the right results with the right weights?"""

from fractions import Fraction
from itertools import islice
from math import ceil

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation import Cohort
from unalike.timing import (
    Asynchronous,
    Clients,
    ExponentialTimes,
    FedBuff,
    FedFix,
    FixedTimes,
    Hardware,
    LogNormalTimes,
    Policy,
    WaitForAll,
    plan_schedule,
    timing_registry,
)
from unalike.timing.clock.hardware import spread_times

from ..naive import equally, random_table
from ..test_timeline import assert_equal_steps, events, named

UNEQUAL = Clients(np.array([0.4, 0.3, 0.2, 0.1]))


def begun(policy, clients):
    policy.begin(clients)
    return policy


def bias(importance, weights):
    """sum_i (p_i - q_i)^2 / q_i for weights q that are brought to sum one."""
    shares = weights / weights.sum()
    return float(((importance - shares) ** 2 / shares).sum())


def spread(clients):
    return FixedTimes(spread_times(clients, 80))


# ------------------------------------------------------------------------------------------------ weights


@pytest.mark.parametrize("seed", range(5))
def test_asynchronous_weights_are_proportional_to_time_and_importance(seed):
    rng = np.random.default_rng(seed)
    taus = [Fraction(int(rng.integers(1, 20)), int(rng.integers(1, 6))) for _ in range(5)]
    clients = Clients(rng.dirichlet(np.ones(5)))
    policy = begun(Asynchronous(hardware=FixedTimes(taus)), clients)
    expected = [
        float(sum(1 / tau for tau in taus) * tau) * p for tau, p in zip(taus, clients.importance, strict=True)
    ]
    np.testing.assert_allclose(policy.weighing.fixed, expected, rtol=1e-12)
    assert policy.frequency() @ policy.weighing.fixed == pytest.approx(1)


@pytest.mark.parametrize("seed", range(5))
def test_clocked_weights_are_the_number_of_windows_times_importance(seed):
    rng = np.random.default_rng(seed)
    taus = [Fraction(int(rng.integers(1, 20)), int(rng.integers(1, 6))) for _ in range(5)]
    window = Fraction(int(rng.integers(1, 8)), int(rng.integers(1, 6)))
    clients = Clients(rng.dirichlet(np.ones(5)))
    policy = begun(FedFix(window, hardware=FixedTimes(taus)), clients)
    counts = np.array([ceil(tau / window) for tau in taus])
    np.testing.assert_allclose(policy.weighing.fixed, counts * clients.importance, rtol=1e-13)
    np.testing.assert_allclose(policy.frequency(), 1 / counts)
    steps = int(np.lcm.reduce(counts))
    exact = plan_schedule(policy, clients, steps=steps)
    np.testing.assert_allclose(exact.expected_weights, clients.importance, rtol=1e-12)


def test_two_point_one_over_nought_point_three_is_seven():
    policy = begun(FedFix(0.3, hardware=FixedTimes([2.1, 0.6, 0.61])), equally(3))
    np.testing.assert_allclose(1 / policy.frequency(), [7, 2, 3], rtol=1e-14)


@pytest.mark.parametrize(
    ("clients", "least", "most"), [(10, 0.42561, 2.12806), (20, 0.41308, 2.06540), (50, 0.40644, 2.03221)]
)
def test_weights_on_spread_hardware_are_five_times_apart(clients, least, most):
    weights = begun(Asynchronous(hardware=spread(clients)), equally(clients)).weighing.fixed
    assert (weights.min(), weights.max()) == (pytest.approx(least, abs=1e-5), pytest.approx(most, abs=1e-5))


@pytest.mark.parametrize(
    ("policy", "clients", "expected", "tolerance"),
    [
        (Asynchronous, 10, 0.27684, 1e-5),
        (Asynchronous, 20, 0.23924, 1e-5),
        (Asynchronous, 50, 0.21933, 1e-5),
        (lambda **o: FedFix(0.5, **o), 10, 0.12, 1e-12),
        (lambda **o: FedFix(0.5, **o), 20, 0.12, 1e-12),
        (lambda **o: FedBuff(10, **o), 20, 0.171, 2e-3),
        (lambda **o: FedBuff(10, **o), 50, 0.172, 2e-3),
    ],
)
def test_identical_weights_favor_quick_clients_by_a_known_bias(policy, clients, expected, tolerance):
    made = policy(hardware=spread(clients), weights="identical")
    begun(made, equally(clients))
    frequency = made.frequency()
    if frequency is None:
        frequency = plan_schedule(made, equally(clients), until=300).frequency
    weights = made.uncorrected(made.clients.importance) * frequency
    assert bias(made.clients.importance, weights) == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("weights", ["corrected", "online"])
@pytest.mark.parametrize("make", [Asynchronous, lambda **o: FedFix(0.3, **o), lambda **o: FedBuff(2, **o)])
@pytest.mark.parametrize(
    "hardware",
    [
        FixedTimes([1, 0.7, 0.5, 0.2]),
        LogNormalTimes([1, 0.7, 0.5, 0.2]),
    ],
)
def test_everyone_counts_as_much_as_it_should_in_the_long_run(hardware, make, weights):
    schedule = plan_schedule(make(hardware=hardware, weights=weights), UNEQUAL, steps=4000)
    np.testing.assert_allclose(schedule.expected_weights, UNEQUAL.importance, rtol=0.05)


def test_buffered_weights_are_right_on_fixed_hardware():
    for buffer in (2, 3):
        policy = FedBuff(buffer, hardware=FixedTimes([1, 0.7, 0.5, 0.2]))
        schedule = plan_schedule(policy, UNEQUAL, steps=4000)
        np.testing.assert_allclose(schedule.expected_weights, UNEQUAL.importance, atol=1e-3)


def test_the_rule_for_fixed_times_is_wrong_for_memoryless_ones():
    """In a window, a memoryless client is ready with chance 1 - exp(-window / mean), whatever came before."""
    means = [1, 0.6, 0.3]
    policy = begun(FedFix(0.5, hardware=ExponentialTimes(means)), equally(3))
    np.testing.assert_allclose(policy.frequency(), [0.3935, 0.5654, 0.8111], atol=1e-4)
    schedule = plan_schedule(policy, equally(3), steps=8_000)
    error = np.sqrt(policy.frequency() / 8_000)
    assert (np.abs(schedule.frequency - policy.frequency()) < 5 * error).all()
    assert (np.abs(schedule.frequency - [1 / 2, 1 / 2, 1]) > 5 * error).all()


def test_memoryless_clients_report_in_proportion_to_their_speed():
    policy = Asynchronous(hardware=ExponentialTimes([1, 0.6, 0.3]))
    schedule = plan_schedule(policy, equally(3), steps=8_000)
    expected = np.array([1, 1 / 0.6, 1 / 0.3]) / (1 + 1 / 0.6 + 1 / 0.3)
    np.testing.assert_allclose(schedule.frequency, expected, rtol=0.05)


def test_on_hardware_of_ones_own_frequencies_are_measured():
    hardware = random_table(np.random.default_rng(0), 4)
    for policy in (FedFix(2, hardware=hardware), FedBuff(2, hardware=hardware)):
        schedule = plan_schedule(policy, UNEQUAL, steps=3000)
        np.testing.assert_allclose(schedule.expected_weights, UNEQUAL.importance, atol=5e-3)


def test_lost_results_are_made_up_for_by_larger_weights():
    policy = FedFix(0.5, hardware=FixedTimes([1, 0.4, 0.4, 0.2]), dropout=0.4)
    schedule = plan_schedule(policy, UNEQUAL, steps=3000)
    np.testing.assert_allclose(schedule.expected_weights, UNEQUAL.importance, rtol=0.05)
    assert schedule.frequency[1] == pytest.approx(0.6, abs=0.05)


@pytest.mark.parametrize("make", [Asynchronous, lambda **o: FedFix(0.3, **o), lambda **o: FedBuff(2, **o)])
def test_discounts_and_caps_act_on_every_result(make):
    hardware = FixedTimes([1, 0.7, 0.5, 0.2])
    plain, old, capped = (
        plan_schedule(make(hardware=hardware, **options), UNEQUAL, steps=60).steps
        for options in ({}, {"staleness": "polynomial:1"}, {"largest_weight": 0.5})
    )
    for a, b, c in zip(plain, old, capped, strict=True):
        np.testing.assert_allclose(b.weights, a.weights / (1 + a.number - a.versions))
        np.testing.assert_allclose(c.weights, np.minimum(a.weights, 0.5))


# ------------------------------------------------------------------------------- policies that are the same


def assert_same_results(one, other):
    """The same clients, versions, jobs and times."""
    for a, b in zip(one.steps, other.steps, strict=True):
        assert_equal_steps(a._replace(weights=0), b._replace(weights=0))


def test_a_buffer_of_one_is_asynchronous_and_one_of_all_waits_for_all():
    hardware = random_table(np.random.default_rng(1), 5)
    one, alone, all_, waiting = (
        plan_schedule(policy, equally(5), steps=60)
        for policy in (
            FedBuff(1, hardware=hardware, weights="identical"),
            Asynchronous(hardware=hardware, weights="identical"),
            FedBuff(5, hardware=hardware, weights="identical"),
            WaitForAll(hardware=hardware),
        )
    )
    assert_same_results(one, alone)
    assert_same_results(all_, waiting)
    np.testing.assert_allclose(all_.expected_weights, waiting.expected_weights)


def test_a_window_of_the_slowest_time_is_synchronous():
    schedule = plan_schedule(FedFix(1, hardware=spread(10)), equally(10), steps=5)
    assert events(schedule) == [(n + 1, [(i, n) for i in range(10)]) for n in range(5)]
    assert all(np.array_equal(step.weights, equally(10).importance) for step in schedule.steps)
    assert all(step.fresh for step in schedule.steps)


def test_a_narrow_window_weighs_like_the_asynchronous_server():
    policy = begun(FedFix(Fraction(1, 1000), hardware=spread(10)), equally(10))
    alone = begun(Asynchronous(hardware=spread(10)), equally(10))
    ratio = policy.weighing.fixed / alone.weighing.fixed
    np.testing.assert_allclose(ratio / ratio.mean(), 1, atol=0.01)


def test_half_a_window_on_equal_hardware_is_empty_every_second_time():
    schedule = plan_schedule(FedFix(0.5), equally(3), steps=6)
    assert [len(step.clients) for step in schedule.steps] == [0, 3, 0, 3, 0, 3]
    np.testing.assert_allclose(schedule.steps[1].weights, [2 / 3] * 3)
    assert schedule.steps[3].versions.tolist() == [2, 2, 2]


# ---------------------------------------------------------------------------------------------------- draws


def test_only_clients_that_are_drawn_begin():
    policy = begun(Asynchronous(hardware=FixedTimes([3, 1, 1, 1]), weights="online"), equally(4))
    steps = list(islice(policy.steps(named([0, 2]), 0), 6))
    assert [step.clients.tolist() for step in steps] == [[2], [2], [0], [2], [2], [2]]
    assert policy.jobs.begun[[1, 3]].tolist() == [0, 0]


def test_a_client_that_is_busy_is_not_disturbed_by_being_drawn_again():
    policy = begun(FedFix(1, hardware=FixedTimes([3, 1]), weights="identical"), equally(2))
    found = [(s.clients.tolist(), s.versions.tolist()) for s in islice(policy.steps(named([0, 1]), 0), 4)]
    assert found == [([1], [0]), ([1], [1]), ([0, 1], [0, 2]), ([1], [3])]


def test_when_nobody_is_drawn_and_nobody_works_time_goes_on():
    nobody = Cohort(np.zeros(0, np.int64), np.zeros(0))
    for policy, wait in ((Asynchronous(), 1), (FedBuff(2), 1), (FedFix(0.25), 0.25)):
        steps = islice(begun(policy, equally(3)).steps(lambda number: nobody, 0), 3)
        assert [(len(step.clients), step.time) for step in steps] == [(0, wait), (0, 2 * wait), (0, 3 * wait)]


def test_a_buffer_that_too_few_are_drawn_for_takes_those_who_come():
    policy = begun(FedBuff(3, hardware=FixedTimes([1, 2, 3, 4])), equally(4))
    steps = islice(policy.steps(named([0, 1]), 0), 2)
    assert [(step.clients.tolist(), step.time) for step in steps] == [([0, 1], 2), ([0, 1], 4)]


@pytest.mark.parametrize(
    "weights",
    [
        "online",
        "corrected",
    ],
)
@pytest.mark.parametrize("make", [Asynchronous, lambda **o: FedFix(0.3, **o), lambda **o: FedBuff(2, **o)])
def test_everyone_counts_as_much_as_it_should_also_where_few_are_drawn(make, weights):
    policy = begun(make(hardware=FixedTimes([1, 0.7, 0.5, 0.2]), weights=weights), UNEQUAL)

    def pairs(number):
        return Cohort(np.sort(np.random.default_rng(number).choice(4, 2, replace=False)), np.full(2, 0.5))

    total = np.zeros(4)
    for step in islice(policy.steps(pairs, 0), 3000):
        total[step.clients] += step.weights
    np.testing.assert_allclose(total / 3000, UNEQUAL.importance, rtol=0.08)


# --------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("buffer", [0, 6, -1])
def test_a_buffer_holds_between_one_and_all_results(buffer):
    words = rf"between 1 and the number of clients \(5\), but is {buffer}"
    with pytest.raises(ConfigError, match=words):
        begun(FedBuff(buffer), equally(5))


@pytest.mark.parametrize("window", [0, -0.5, "wide", float("nan")])
def test_a_window_is_a_positive_time(window):
    with pytest.raises(ConfigError, match="positive"):
        begun(FedFix(window), equally(5))


@pytest.mark.parametrize("dropout", [1, 1.5, -0.1, float("nan")])
def test_some_results_must_arrive(dropout):
    with pytest.raises(ConfigError, match=f"dropout must be at least 0 and below 1, but is {dropout}"):
        Asynchronous(dropout=dropout)


@pytest.mark.parametrize("timeout", [-1, "never", 0])
def test_a_time_out_is_a_positive_time(timeout):
    with pytest.raises(ConfigError, match="positive"):
        begun(FedFix(1, timeout=timeout, weights="identical"), equally(5))


def test_hardware_must_be_that_of_these_clients():
    with pytest.raises(ConfigError, match="the hardware has times of 3 clients, but there are 5"):
        begun(Asynchronous(hardware=FixedTimes([1, 2, 3])), equally(5))
    with pytest.raises(ConfigError, match="unknown hardware 'quick'"):
        begun(Asynchronous(hardware="quick"), equally(5))
    with pytest.raises(ConfigError, match="below 100"):
        begun(Asynchronous(hardware="spread:100"), equally(5))


@pytest.mark.parametrize("make", [Asynchronous, lambda **o: FedFix(1, **o), lambda **o: FedBuff(2, **o)])
def test_unknown_words_are_explained(make):
    with pytest.raises(ConfigError, match="unknown weights 'same'"):
        begun(make(weights="same"), equally(5))
    with pytest.raises(ConfigError, match="unknown staleness discount 'linear'"):
        begun(make(staleness="linear"), equally(5))
    with pytest.raises(ConfigError, match="the largest weight must be positive, but is -1"):
        begun(make(largest_weight=-1), equally(5))


def test_a_clock_too_fine_for_its_ticks_is_refused():
    hardware = FixedTimes([Fraction(1, 999_983), Fraction(1, 999_979)])
    with pytest.raises(ConfigError, match="tick"):
        begun(FedFix(Fraction(1, 99_999_989), hardware=hardware), equally(2))


def test_a_buffer_holds_a_whole_number_of_results():
    with pytest.raises(ConfigError, match=r"2\.5"):
        begun(timing_registry.make("fedbuff:2.5"), equally(5))


def test_policies_are_made_by_name():
    assert timing_registry.make("async") == Asynchronous()
    assert timing_registry.make("fedfix:0.25") == FedFix(0.25)
    assert timing_registry.make("fedbuff:3") == FedBuff(3)
    assert begun(timing_registry.make("fedfix:1/3"), equally(2)).ticks(1) == 3


def test_a_policy_of_ones_own_says_only_when_it_aggregates():
    class Patient(Policy):
        """Waits for half of those who work."""

        def wait(self):
            found = self.arrivals(count=max(len(self.jobs) // 2, 1))
            return int(self.jobs.ready[found].max()), found

        def uncorrected(self, importance):
            return importance

    schedule = plan_schedule(Patient(hardware=FixedTimes([1, 2, 3, 4])), equally(4), steps=2000)
    assert all(len(step.clients) == 2 for step in schedule.steps)
    np.testing.assert_allclose(schedule.expected_weights, [1 / 4] * 4, atol=1e-3)
    with pytest.raises(NotImplementedError):
        plan_schedule(Policy(weights="identical"), equally(2), steps=1)


def test_hardware_is_asked_for_nothing_but_the_time_of_a_job():
    class Counting(Hardware):
        resolution, mean, fixed = 1, np.ones(3), False

        def ticks(self, clients, jobs):
            assert len(clients) == len(jobs)
            return 1 + (clients + jobs) % 2

    schedule = plan_schedule(FedBuff(2, hardware=Counting(), weights="identical"), equally(3), steps=4)
    assert events(schedule)[0] == (1, [(0, 0), (2, 0)])
