"""Does every policy do step by step what a naive simulation with fractions does?"""

from fractions import Fraction
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest

from unalike.participation import Cohort
from unalike.timing import (
    Asynchronous,
    Clients,
    Deadline,
    ExponentialTimes,
    FedBuff,
    FedFix,
    FixedTimes,
    LogNormalTimes,
    OverSelection,
    Synchronous,
    WaitForAll,
    plan_schedule,
)
from unalike.timing.clock.hardware import spread_times
from unalike.timing.report_frequency import reporting
from unalike.timing.timeline import plan_steps

from .naive import (
    assert_released_once,
    assert_same,
    deadline,
    equally,
    every,
    everyone,
    first,
    first_of_cohort,
    lost_jobs,
    naive_steps,
    random_table,
)

THIRD = Fraction(1, 3)
POLICIES = {
    "async": (Asynchronous, (), first(1)),
    "fedfix": (FedFix, (Fraction(5, 2),), every(Fraction(5, 2))),
    "fedfix narrow": (FedFix, (THIRD,), every(THIRD)),
    "fedbuff": (FedBuff, (3,), first(3)),
    "wait for all": (WaitForAll, (), everyone),
    "deadline": (Deadline, (Fraction(7, 2), "drop"), deadline(Fraction(7, 2), "drop")),
    "deadline, keep": (Deadline, (Fraction(7, 2), "keep"), deadline(Fraction(7, 2), "keep")),
    "over-selection": (OverSelection, (3,), first_of_cohort(3)),
}
WITH_TIES = [name for name in POLICIES if name != "over-selection"]
"""Over-selection with ties is in the tests of cohort policies."""


def both(name, hardware, clients, steps, seed=0, **options):
    """The steps of a policy, and those of the naive simulation."""
    make, arguments, rule = POLICIES[name]
    dropout, timeout = options.get("dropout", 0), options.get("timeout")
    policy = make(*arguments, hardware=hardware, weights="identical", **options)
    expected = naive_steps(rule, hardware.duration, clients, steps, lost_jobs(seed, dropout), timeout)
    return plan_schedule(policy, equally(clients, seed), steps=steps).steps, expected


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", WITH_TIES)
def test_steps_equal_a_naive_simulation_with_fractions(name, seed):
    rng = np.random.default_rng(seed)
    clients = int(rng.integers(3, 9))
    steps, expected = both(name, random_table(rng, clients), clients, 60)
    assert_same(steps, expected)
    assert_released_once(steps, expected)


@pytest.mark.parametrize("name", POLICIES)
def test_steps_equal_a_naive_simulation_also_where_nothing_ties(name):
    rng = np.random.default_rng(7)
    hardware = random_table(rng, 6)
    hardware.rows = [
        [time + Fraction(1, 10007 + 2 * i) for time in row] for i, row in enumerate(hardware.rows)
    ]
    hardware = type(hardware)(hardware.rows[:3])
    steps, expected = both(name, hardware, 3, 60)
    assert_same(steps, expected)
    assert_released_once(steps, expected)


@pytest.mark.parametrize("clients", [17, 40])
@pytest.mark.parametrize("name", ["async", "fedfix", "fedbuff"])
def test_many_clients_that_start_together_are_the_same_as_few(name, clients):
    """More than sixteen at once take a vectorized way."""
    hardware = random_table(np.random.default_rng(clients), clients, jobs=50)
    steps, expected = both(name, hardware, clients, 150)
    assert_same(steps, expected)
    assert_released_once(steps, expected)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["async", "fedfix", "fedfix narrow"])
def test_lost_jobs_are_those_of_the_naive_simulation(name, seed):
    hardware = random_table(np.random.default_rng(seed), 8)
    steps, expected = both(name, hardware, 8, 80, seed, dropout=0.25)
    assert sum(len(step.lost) for step in expected) > 5
    assert_same(steps, expected)
    assert_released_once(steps, expected)


CLAIRVOYANT = "the clock does not wait for the end of jobs that are lost"


@pytest.mark.parametrize("name", ["async", "fedbuff", "wait for all", "deadline", "deadline, keep"])
def test_lost_jobs_take_their_time_when_nobody_else_works(name):
    hardware = random_table(np.random.default_rng(1), 3)
    steps, expected = both(name, hardware, 3, 40, dropout=0.5)
    assert_same(steps, expected)


def test_a_client_that_loses_jobs_is_not_quicker_than_one_that_does_not():
    """Jobs of five units: whether results are lost or not, at most one comes every five."""
    policy = Asynchronous(hardware=FixedTimes([5]), dropout=0.5, weights="identical")
    for step in plan_schedule(policy, equally(1), until=500).steps:
        assert (step.started >= 5 * step.jobs).all()


@pytest.mark.parametrize("name", ["async", "fedfix", "fedbuff", "wait for all", "deadline, keep"])
def test_jobs_that_take_too_long_are_given_up_at_the_time_out(name):
    hardware = random_table(np.random.default_rng(3), 5)
    steps, expected = both(name, hardware, 5, 60, timeout=Fraction(3))
    assert sum(len(step.lost) for step in expected) > 10
    assert_same(steps, expected)


def test_waiting_for_all_with_a_time_out_is_a_deadline():
    hardware = FixedTimes([1, 3, 10])
    waiting = plan_schedule(WaitForAll(hardware=hardware, timeout=4), equally(3), steps=5)
    late = plan_schedule(Deadline(4, hardware=hardware), equally(3), steps=5)
    assert [step.time for step in waiting.steps] == [step.time for step in late.steps] == [4, 8, 12, 16, 20]
    assert waiting.counts.tolist() == late.counts.tolist() == [5, 5, 0]


@pytest.mark.parametrize("name", POLICIES)
def test_a_time_out_that_nobody_reaches_changes_nothing(name):
    rng = np.random.default_rng(0)
    hardware, (make, arguments, _) = random_table(rng, 5), POLICIES[name]
    plain, patient = (
        plan_schedule(
            make(*arguments, hardware=hardware, weights="identical", timeout=t), equally(5), steps=30
        )
        for t in (None, 12)
    )
    for one, other in zip(plain.steps, patient.steps, strict=True):
        assert_equal_steps(one, other)


# ------------------------------------------------------------------------------------- known schedules


def events(schedule):
    """(time, [(client, version), ...]) of every step."""
    return [
        (step.time, list(zip(step.clients.tolist(), step.versions.tolist(), strict=True)))
        for step in schedule.steps
    ]


def test_a_client_that_is_twice_as_slow_reports_in_every_second_window():
    two = Clients(np.array([0.3, 0.7]))
    schedule = plan_schedule(FedFix(1, hardware=FixedTimes([1, 2])), two, until=6)
    assert events(schedule) == [
        (1, [(0, 0)]),
        (2, [(0, 1), (1, 0)]),
        (3, [(0, 2)]),
        (4, [(0, 3), (1, 2)]),
        (5, [(0, 4)]),
        (6, [(0, 5), (1, 4)]),
    ]
    assert [step.weights.tolist() for step in schedule.steps[:2]] == [[0.3], [0.3, 1.4]]


def test_three_clients_of_two_three_and_four_ticks():
    """In twelve ticks there are 6 + 4 + 3 results; then everything repeats."""
    policy = Asynchronous(hardware=FixedTimes([2, 3, 4]))
    schedule = plan_schedule(policy, equally(3), steps=130)
    weights = [13 / 18, 13 / 12, 13 / 9]
    assert schedule.counts.tolist() == [60, 40, 30]
    assert max(schedule.staleness) == 4
    np.testing.assert_allclose(schedule.expected_weights, [1 / 3] * 3, rtol=1e-13)
    for start in range(117):  # whatever the window of thirteen begins with
        total = np.zeros(3)
        for step in schedule.steps[start : start + 13]:
            np.testing.assert_allclose(step.weights, [weights[client] for client in step.clients])
            total[step.clients] += step.weights
        if start % 13 == 0 or start > 12:
            np.testing.assert_allclose(total / 13, [1 / 3] * 3, rtol=1e-12)


@pytest.mark.parametrize("clients", [1, 2, 7, 30])
def test_equal_clients_report_in_turn(clients):
    schedule = plan_schedule(Asynchronous(), equally(clients), until=10)
    assert [step.clients.tolist() for step in schedule.steps] == [[i] for i in range(clients)] * 10
    assert set(schedule.staleness[clients:].tolist()) == {clients - 1}
    assert schedule.expected_weights.tolist() == pytest.approx([1 / clients] * clients)


def test_one_client_is_sequential_whatever_the_policy():
    for policy in (Asynchronous(), FedFix(1), FedBuff(1), WaitForAll(), Deadline(1), OverSelection(1)):
        schedule = plan_schedule(policy, equally(1), steps=5)
        assert events(schedule) == [(n + 1, [(0, n)]) for n in range(5)]
        assert schedule.expected_weights.tolist() == [1]


def test_results_that_are_ready_together_are_taken_in_the_order_of_clients():
    schedule = plan_schedule(Asynchronous(hardware=FixedTimes([2, 1, 2, 1])), equally(4), until=2)
    assert events(schedule) == [
        (1, [(1, 0)]),
        (1, [(3, 0)]),
        (2, [(0, 0)]),
        (2, [(1, 1)]),
        (2, [(2, 0)]),
        (2, [(3, 2)]),
    ]


def test_a_time_on_a_grid_point_is_met_exactly():
    """In floats 2.1 / 0.3 is a little more than 7; results that are ready with a window belong to it."""
    policy = FedFix(0.3, hardware=FixedTimes([2.1, "0.3"]))
    schedule = plan_schedule(policy, equally(2), steps=21)
    assert policy.frequency is not None
    assert schedule.counts.tolist() == [3, 21]
    assert [step.number for step in schedule.steps if 0 in step.clients] == [6, 13, 20]
    np.testing.assert_allclose(schedule.steps[6].weights, [7 / 2, 1 / 2], rtol=1e-14)


F80 = {clients: FixedTimes(spread_times(clients, 80)) for clients in (10, 20, 50)}


@pytest.mark.parametrize(
    ("clients", "results", "stalest"), [(10, 21.2806, 24), (20, 41.3080, 44), (50, 101.6107, 108)]
)
def test_spread_clients_report_as_often_as_their_speed_allows(clients, results, stalest):
    schedule = plan_schedule(Asynchronous(hardware=F80[clients]), equally(clients), until=200)
    assert len(schedule.steps) / 200 == pytest.approx(results, abs=clients / 200)
    assert sum(1 / F80[clients].mean) == pytest.approx(results, abs=1e-4)
    assert schedule.counts.max() == 5 * schedule.counts.min()
    assert schedule.staleness.max() == stalest
    assert np.abs(schedule.expected_weights * clients - 1).max() < 0.01


TRAFFIC = [
    (10, WaitForAll(), 10, 0),
    (10, FedFix(0.5), 14, 1),
    (10, FedFix(0.2), 18.83, 4),
    (10, FedBuff(5), 17.28, 3),
    (10, FedBuff(10), 10, 0),
    (20, FedFix(0.5), 28, 1),
    (20, FedFix(0.2), 34.58, 4),
    (20, FedBuff(5), 36.03, 7),
    (20, FedBuff(10), 31.83, 3),
    (50, FedFix(0.5), 69, 1),
    (50, FedFix(0.2), 83, 4),
    (50, FedBuff(5), 96.36, 20),
    (50, FedBuff(10), 90.23, 9),
]


@pytest.mark.parametrize(("clients", "policy", "uploads", "stalest"), TRAFFIC)
def test_uploads_per_unit_of_time_and_staleness_on_spread_hardware(clients, policy, uploads, stalest):
    policy.hardware, policy.weights = F80[clients], "identical"
    schedule = plan_schedule(policy, equally(clients), until=200)
    assert schedule.counts.sum() / 200 == pytest.approx(uploads, rel=0.003)
    assert schedule.staleness.max() == stalest


def test_a_clock_of_half_the_slowest_time_aggregates_twice_as_often():
    waiting, fixed = (
        plan_schedule(policy, equally(10), until=50)
        for policy in (WaitForAll(hardware=F80[10]), FedFix(0.5, hardware=F80[10]))
    )
    assert (len(waiting.steps), len(fixed.steps)) == (50, 100)
    assert fixed.counts.sum() / len(fixed.steps) == 7


@pytest.mark.parametrize(
    ("clients", "buffer", "stalest"), [(10, 5, 1), (10, 2, 4), (10, 10, 0), (12, 3, 3), (10, 3, 5)]
)
def test_equal_clients_in_a_buffer_are_so_many_versions_old(clients, buffer, stalest):
    schedule = plan_schedule(FedBuff(buffer), equally(clients), steps=60)
    assert schedule.staleness.max() == stalest
    if clients % buffer == 0:
        assert set(schedule.staleness[clients:].tolist()) == {clients // buffer - 1}


# --------------------------------------------------------------------------------- what a schedule says


def test_a_schedule_counts_what_its_steps_say():
    policy = FedBuff(2, hardware=random_table(np.random.default_rng(2), 5), weights="online")
    schedule = plan_schedule(policy, Clients(np.array([0.1, 0.2, 0.3, 0.25, 0.15])), steps=40)
    counts, weights, ages = [0] * 5, [0.0] * 5, []
    for step in schedule.steps:
        for client, version, weight in zip(step.clients, step.versions, step.weights, strict=True):
            counts[client] += 1
            weights[client] += weight
            ages.append(step.number - version)
    assert schedule.counts.tolist() == counts
    assert schedule.frequency.tolist() == [n / 40 for n in counts]
    assert schedule.staleness.tolist() == ages
    np.testing.assert_allclose(schedule.expected_weights, np.array(weights) / 40, rtol=1e-12)


def test_a_schedule_without_steps_or_results_counts_nothing():
    for schedule in (
        plan_schedule(Asynchronous(), equally(3), until=0.5),
        plan_schedule(FedFix(0.1), equally(3), steps=4),
    ):
        assert schedule.counts.tolist() == schedule.frequency.tolist() == [0, 0, 0]
        assert schedule.expected_weights.tolist() == [0, 0, 0]
        assert schedule.staleness.tolist() == []


def test_until_includes_the_step_at_that_time_and_steps_bounds_their_number():
    assert len(plan_schedule(WaitForAll(), equally(2), until=3).steps) == 3
    assert len(plan_schedule(WaitForAll(), equally(2), until=3, steps=2).steps) == 2
    assert [step.time for step in plan_schedule(Synchronous(), equally(2), until=2).steps] == [1, 2]


def test_planning_leaves_the_timing_alone():
    policy = Asynchronous(hardware=FixedTimes([2, 3, 4]))
    policy.begin(equally(3))
    steps = policy.steps(SimpleNamespace(everyone=True), 0)
    before = [next(steps) for _ in range(3)]
    state = policy.state()
    plan_schedule(policy, equally(3), steps=50)
    reporting(policy, equally(3))
    assert all(np.array_equal(state[name], value) for name, value in policy.state().items())
    whole = plan_schedule(policy, equally(3), steps=6).steps
    for one, other in zip([*before, *islice(steps, 3)], whole, strict=True):
        assert_equal_steps(one, other)


def test_a_rehearsal_is_long_enough_to_count_in():
    policy = FedBuff(3, hardware=F80[10])
    rehearsal = reporting(policy, equally(10))
    assert policy.weights == "corrected"
    measured = plan_schedule(FedBuff(3, hardware=F80[10], weights="identical"), equally(10), steps=4000)
    np.testing.assert_allclose(rehearsal.frequency, measured.frequency, atol=2e-3)


# ------------------------------------------------------------------------- versions, and going on later


def named(clients):
    """A draw that names the same clients every time."""
    cohort = Cohort(np.array(clients), np.full(len(clients), 1 / len(clients)))
    return lambda number: cohort


def sampled(number):
    """A draw of three of eight clients."""
    rng = np.random.default_rng(number)
    return Cohort(np.sort(rng.choice(8, 3, replace=False)), rng.random(3))


def always(number):
    return Cohort(np.arange(8), np.full(8, 1 / 8))


always.everyone = True

MEANS = spread_times(8)
RANDOM = {
    "async": lambda: Asynchronous(hardware=ExponentialTimes(MEANS)),
    "async, online": lambda: Asynchronous(hardware=LogNormalTimes(MEANS), weights="online"),
    "async, lost": lambda: Asynchronous(hardware=ExponentialTimes(MEANS), dropout=0.3, weights="online"),
    "fedfix": lambda: FedFix(0.3, hardware=ExponentialTimes(MEANS), staleness="polynomial"),
    "fedfix, lost": lambda: FedFix(0.3, hardware=ExponentialTimes(MEANS), timeout=1, weights="identical"),
    "fedbuff": lambda: FedBuff(3, hardware=LogNormalTimes(MEANS), dropout=0.2, weights="online"),
    "wait for all": lambda: WaitForAll(hardware=ExponentialTimes(MEANS), dropout=0.2),
    "deadline": lambda: Deadline(0.4, hardware=ExponentialTimes(MEANS)),
    "deadline, keep": lambda: Deadline(0.4, "keep", hardware=ExponentialTimes(MEANS), dropout=0.1),
    "over-selection": lambda: OverSelection(2, hardware=ExponentialTimes(MEANS)),
}


def assert_equal_steps(one, other):
    for name, a, b in zip(one._fields, one, other, strict=True):
        assert np.array_equal(np.asarray(a), np.asarray(b)), name


@pytest.mark.parametrize("draw", [always, sampled])
@pytest.mark.parametrize("name", RANDOM)
def test_a_policy_goes_on_from_its_state_as_if_nothing_had_happened(name, draw):
    clients = equally(8, seed=5)
    whole = RANDOM[name]()
    whole.begin(clients)
    steps, states = whole.steps(draw, 0), {}
    taken = []
    for number in range(60):
        taken.append(next(steps))
        states[number] = {key: value.copy() for key, value in whole.state().items()}
    for middle in (0, 7, 33):
        later = RANDOM[name]()
        later.begin(clients)
        later.restore(states[middle])
        resumed = islice(later.steps(draw, middle + 1), 59 - middle)
        for one, other in zip(taken[middle + 1 :], resumed, strict=True):
            assert_equal_steps(one, other)


@pytest.mark.parametrize("draw", [always, sampled])
@pytest.mark.parametrize("name", RANDOM)
def test_versions_are_released_once_and_exactly_when_nobody_will_start_from_them(name, draw):
    """Counted naively: version v is in use as long as a job that started from it is in the air."""
    policy = RANDOM[name]()
    policy.begin(equally(8, seed=5))
    released = []
    for step in islice(policy.steps(draw, 0), 200):
        in_the_air = set(policy.jobs.version[policy.jobs.version >= 0].tolist())
        released.extend(step.done_with.tolist())
        assert sorted(released) == sorted(set(range(step.number + 1)) - in_the_air)
        assert step.number + 1 not in released
        assert (step.versions <= step.number).all()


def test_beginning_again_forgets_the_first_run():
    policy = RANDOM["over-selection"]()
    runs = []
    for _ in range(2):
        policy.begin(equally(8))
        runs.append(list(islice(policy.steps(sampled, 0), 20)))
    for one, other in zip(*runs, strict=True):
        assert_equal_steps(one, other)


def test_another_seed_is_another_schedule_and_the_same_seed_is_the_same():
    by_name = lambda seed: plan_schedule(Asynchronous(hardware="exponential"), equally(8, seed), steps=20)  # noqa: E731
    times = [[step.time for step in by_name(seed).steps] for seed in (1, 1, 2)]
    assert times[0] == times[1] != times[2]


def test_steps_are_made_one_at_a_time():
    asked = []

    def noted(number):
        asked.append(number)
        return always(number)

    policy = Asynchronous()
    policy.begin(equally(8))
    list(islice(policy.steps(noted, 0), 3))
    assert asked == [0, 1, 2]
    assert len(list(islice(plan_steps(policy, equally(8)), 3))) == 3


def test_naive_draws_and_policies_agree_on_who_starts():
    """A cohort per step: only idle clients that are named begin, the busy ones go on."""
    hardware = random_table(np.random.default_rng(4), 8)
    for name in WITH_TIES:
        make, arguments, rule = POLICIES[name]
        policy = make(*arguments, hardware=hardware, weights="identical")
        policy.begin(equally(8))
        expected = naive_steps(
            rule, hardware.duration, 8, 80, cohort=lambda number: set(sampled(number).clients.tolist())
        )
        steps = list(islice(policy.steps(sampled, 0), 80))
        assert_same(steps, expected)
        assert_released_once(steps, expected)


def test_a_plain_object_can_be_a_draw():
    draw = SimpleNamespace(everyone=True)  # never called, because everyone takes part
    policy = FedBuff(2)
    policy.begin(equally(4))
    assert next(policy.steps(draw, 0)).clients.tolist() == [0, 1]
