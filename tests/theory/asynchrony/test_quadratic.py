"""Is training on quadratic losses what the recursion says, and are rates and limits those of its roots?"""

import math

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.theory.asynchrony.quadratic import (
    growth,
    largest_stable_step,
    period_of,
    repeating_schedule,
    settled_error,
    simulate,
    stable_limit,
    turns,
)
from unalike.timing import (
    Asynchronous,
    Clients,
    ExponentialTimes,
    FedBuff,
    FedFix,
    FixedTimes,
    Synchronous,
    Timeline,
    WaitForAll,
    plan_schedule,
)

THREE = FixedTimes([2, 3, 4])
P = np.array([0.5, 0.3, 0.2])
OPTIMA = np.array([[0.0, 1.0], [2.0, -1.0], [5.0, 0.0]])


def equal(count):
    return Clients(np.full(count, 1 / count))


def naive(schedule, optima, phi, start):
    """Every version is kept."""
    versions = [np.array(start, float)]
    for step in schedule.steps:
        model = versions[-1].copy()
        for client, version, weight in zip(step.clients, step.versions, step.weights, strict=True):
            model += phi * weight * (optima[client] - versions[version])
        versions.append(model)
    return np.array(versions[1:])


# Simulation.


@pytest.mark.parametrize(
    "timing",
    [
        WaitForAll(hardware=THREE),
        Asynchronous(hardware=THREE),
        FedFix(1, hardware=THREE),
        FedFix("0.5", hardware=THREE),
        FedBuff(2, hardware=THREE),
        Asynchronous(hardware=THREE, dropout=0.3, staleness="polynomial", weights="identical"),
    ],
    ids=["all", "async", "fedfix", "empty steps", "fedbuff", "lossy"],
)
def test_models_are_those_of_the_recursion_with_every_version_kept(timing):
    schedule = plan_schedule(timing, Clients(P), steps=60)
    path = simulate(schedule, OPTIMA, 0.1, start=[3.0, -2.0])
    assert path.models == pytest.approx(naive(schedule, OPTIMA, 0.1, [3.0, -2.0]))
    assert path.times == pytest.approx([step.time for step in schedule.steps])
    assert path.settled == pytest.approx(path.models[30:].mean(axis=0))
    assert path.wobble == pytest.approx(path.models[30:].std(axis=0))


def test_a_common_optimum_is_never_left():
    schedule = plan_schedule(Asynchronous(hardware=THREE), Clients(P), steps=50)
    assert simulate(schedule, [4.0] * 3, 0.3, start=4.0).models == pytest.approx(4.0)


def test_a_wide_window_is_waiting_for_all_to_the_bit():
    clients = Clients(P)
    waiting = simulate(plan_schedule(WaitForAll(hardware=THREE), clients, steps=30), OPTIMA, 0.3)
    for width in (4, 7):
        fixed = simulate(plan_schedule(FedFix(width, hardware=THREE), clients, steps=30), OPTIMA, 0.3)
        assert np.array_equal(waiting.models, fixed.models)
    every_second = plan_schedule(FedFix(0.5, hardware="equal"), clients, steps=60)
    twice = simulate(plan_schedule(Synchronous(), clients, steps=30), OPTIMA, 0.6)
    assert np.array_equal(simulate(every_second, OPTIMA, 0.3).models[1::2], twice.models)


def test_an_empty_schedule_has_no_models():
    assert simulate(Timeline([], 2), [0.0, 1.0], 0.1).models.shape == (0, 1)


@pytest.mark.parametrize("optima", [[1.0, 2.0], [1.0, 2.0, math.nan]])
def test_every_client_needs_an_optimum(optima):
    with pytest.raises(ConfigError, match="optima need one finite row for each of 3 clients"):
        simulate(turns([[0, 1, 2]], [[1.0, 1.0, 1.0]], 3), optima, 0.1)


# Taking turns.


@pytest.mark.parametrize("phi", [0.05, 0.1, 0.25, 0.5, 0.9, 1.0, 1.3])
def test_two_types_by_turns_shrink_by_the_larger_root(phi):
    """theta^{n+2} = theta^{n+1} - phi theta^n."""
    schedule = turns([[0, 2], [1, 3]], [[0.5, 0.5]] * 2, steps=2000)
    root = np.abs(np.roots([1, -1, phi])).max()
    assert np.exp(growth(schedule, [phi], period=2)) == pytest.approx([root])
    assert np.exp(growth(schedule, [phi])) == pytest.approx([root], rel=2e-3)


def test_two_clients_by_turns_settle_on_a_cycle_around_their_weighted_mean():
    schedule = turns([[0], [1]], [[0.7], [0.3]], steps=3000)
    for phi in (0.05, 0.2, 0.5):
        after_one, after_two = simulate(schedule, [1.0, -1.0], phi).models[-2:, 0]
        assert after_one == pytest.approx(after_two + phi * 0.7 * (1 - after_one))
        assert after_two == pytest.approx(after_one + phi * 0.3 * (-1 - after_two))
        assert 0.7 * after_one + 0.3 * after_two == pytest.approx(0.4)
        assert after_one > 0.4 > after_two


# Growth and stability.


def test_waiting_shrinks_errors_by_one_minus_the_step():
    schedule = plan_schedule(WaitForAll(hardware=THREE), Clients(P), steps=200)
    steps = np.array([0.1, 0.5, 1.5, 2.5])
    assert growth(schedule, steps, period=1) == pytest.approx(np.log(np.abs(1 - steps)) / 4)
    assert growth(schedule, steps) == pytest.approx(np.log(np.abs(1 - steps)) / 4)
    assert growth(schedule, [1.0], period=1) == -np.inf


@pytest.mark.parametrize("clients", [1, 2, 5, 10])
def test_clients_that_are_alike_are_one_delay_whose_limit_is_known(clients):
    """theta^{n+1} = theta^n - phi theta^{n-k} is stable up to 2 sin(pi / (4 k + 2))."""
    exact = 2 * math.sin(math.pi / (4 * (clients - 1) + 2))
    assert largest_stable_step(Asynchronous(hardware="equal"), equal(clients)) == pytest.approx(
        exact, rel=1e-3
    )


@pytest.mark.parametrize("quick", [0.3, 0.5, 0.7, 0.9])
def test_two_speeds_on_a_clock_have_the_multiplier_of_two_steps(quick):
    """Those that report every time move the first step, all the second one: m = 1 - 2 phi + (phi a)^2."""
    timing = FedFix(1, hardware=FixedTimes([1, 2]))
    schedule, period = repeating_schedule(timing, Clients(np.array([quick, 1 - quick])))
    assert period == 2
    steps = np.linspace(0.05, 3, 60)
    exact = np.log(np.abs(1 - 2 * steps + (steps * quick) ** 2)) / 2
    assert growth(schedule, steps, period) == pytest.approx(exact, abs=1e-9)
    back = 1 - 2 * quick**2  # if positive, m falls below -1 and comes back: longer steps are stable again
    first = (1 - math.sqrt(back)) / quick**2 if back > 0 else 2 / quick**2
    assert stable_limit(schedule, period) == pytest.approx(first, rel=1e-3)


def test_what_is_seen_on_a_long_schedule_is_what_the_eigenvalues_say():
    timing = Asynchronous(hardware=THREE)
    schedule = plan_schedule(timing, Clients(P), steps=13 * 300)
    steps = np.array([0.01, 0.1, 0.3, 0.6, 1.0])
    assert growth(schedule, steps) == pytest.approx(growth(schedule, steps, period=13), abs=3e-3)
    assert stable_limit(schedule) == pytest.approx(stable_limit(schedule, 13), rel=5e-3)


def test_just_below_the_limit_errors_shrink_and_just_above_they_grow():
    for timing in (Asynchronous(hardware=THREE), FedBuff(2, hardware=THREE), FedFix(1, hardware=THREE)):
        limit = largest_stable_step(timing, Clients(P))
        schedule = plan_schedule(timing, Clients(P), steps=6000)
        calm, wild = (simulate(schedule, [0.0] * 3, f * limit, start=1.0).models for f in (0.97, 1.03))
        assert np.abs(calm[-50:]).max() < 1e-3 < 1e3 < np.abs(wild[-50:]).max()


def test_older_results_need_shorter_steps():
    clients = equal(10)
    limits = [
        largest_stable_step(timing, clients)
        for timing in (
            WaitForAll(hardware="spread:80"),
            FedFix(0.5, hardware="spread:80"),
            FedFix(0.2, hardware="spread:80"),
            Asynchronous(hardware="spread:80"),
        )
    ]
    assert limits == sorted(limits, reverse=True)
    assert limits == pytest.approx([2.0, 1.1, 0.6, 0.17], rel=0.1)


def test_weights_of_nobody_never_diverge():
    assert stable_limit(turns([[0]], [[0.0]], 10)) == math.inf


def test_a_schedule_that_explodes_grows_infinitely_or_fast_but_is_a_number():
    schedule = plan_schedule(Asynchronous(hardware=THREE), Clients(P), steps=800)
    rates = growth(schedule, [1e3, 1e200], period=13)
    assert (rates > 1).all()
    assert not np.isnan(growth(schedule, [1e200])).any()


# Periods.


def test_periods_are_those_of_the_times():
    clients = equal(3)
    assert repeating_schedule(Asynchronous(hardware=THREE), clients)[1] == 13
    assert repeating_schedule(WaitForAll(hardware=THREE), clients)[1] == 1
    assert repeating_schedule(FedFix(1, hardware=THREE), clients)[1] == 12
    assert repeating_schedule(Synchronous(), clients)[1] == 1
    fedbuff, period = repeating_schedule(FedBuff(2, hardware=THREE), clients)
    tail = [step.clients.tolist() for step in fedbuff.steps[-3 * period :]]
    assert tail[:period] == tail[period : 2 * period] == tail[2 * period :]


def test_what_is_random_or_changes_or_is_too_long_has_no_period():
    clients = equal(3)
    for timing in (
        Asynchronous(hardware=ExponentialTimes([1.0, 2.0, 3.0])),
        WaitForAll(hardware=ExponentialTimes([1.0, 2.0, 3.0])),
        Asynchronous(hardware=THREE, weights="online"),
        Asynchronous(hardware=THREE, dropout=0.1, weights="identical"),
        Asynchronous(hardware=FixedTimes([997, 991, 983])),
    ):
        assert repeating_schedule(timing, clients)[1] is None
    assert period_of(plan_schedule(Asynchronous(hardware=THREE), clients, steps=2)) is None
    assert period_of(Timeline([], 1)) is None


# What stays.


def test_the_error_that_stays_is_that_of_each_clients_optimum_alone():
    schedule = plan_schedule(Asynchronous(hardware=THREE), Clients(P), steps=1300)
    steps = [0.05, 0.2]
    naive_error = [
        sum(
            ((simulate(schedule, np.eye(3)[i], phi, start=P[i]).models[650:, 0] - P[i]) ** 2).mean()
            for i in range(3)
        )
        for phi in steps
    ]
    assert settled_error(schedule, P, steps) == pytest.approx(naive_error, rel=1e-3)


def test_short_steps_leave_only_the_bias():
    clients = Clients(P)
    biased = plan_schedule(Asynchronous(hardware=THREE, weights="identical"), clients, steps=1300)
    shares = np.array([6, 4, 3]) / 13
    assert settled_error(biased, P, [1e-4])[0] == pytest.approx(((shares - P) ** 2).sum(), rel=1e-2)
    right = plan_schedule(Asynchronous(hardware=THREE), clients, steps=1300)
    errors = settled_error(right, P, [0.001, 0.01, 0.1])
    assert errors[1:] / errors[:-1] == pytest.approx([100, 100], rel=0.2)  # the error itself is linear


def test_waiting_for_all_leaves_nothing_and_divergence_leaves_infinity():
    schedule = plan_schedule(WaitForAll(hardware=THREE), Clients(P), steps=2000)
    errors = settled_error(schedule, P, [0.1, 1.9, 4.0])
    assert errors[:2] == pytest.approx([0, 0], abs=1e-20)
    # Rounding is what grows; from the exact optimum it takes a while.
    assert errors[2] > 1
    late = plan_schedule(Asynchronous(hardware=THREE), Clients(P), steps=4000)
    assert settled_error(late, P, [9.0])[0] == np.inf


def test_the_objective_around_which_errors_settle_may_be_given():
    schedule = turns([[0], [1]], [[0.5], [0.5]], steps=40)
    here = settled_error(schedule, np.array([0.5, 0.5]), [1e-9], expected=np.array([3.0, 1.0]))
    assert here[0] == pytest.approx(2 * 0.25**2)
