"""Is what a policy minimizes what its schedule says, and are the constants of the theory its own?"""

from fractions import Fraction
from itertools import product
from math import ceil, inf, lcm

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.theory.asynchrony.objective import (
    PreparedTiming,
    Surrogate,
    constants,
    expected_weights,
    plan_results,
    staleness_shares,
    surrogate,
    traffic,
    window,
)
from unalike.timing import (
    Asynchronous,
    Clients,
    Deadline,
    ExponentialTimes,
    FedBuff,
    FedFix,
    FixedTimes,
    LogNormalTimes,
    Step,
    Synchronous,
    Timeline,
    WaitForAll,
    plan_schedule,
)

P = np.array([0.4, 0.1, 0.3, 0.2])
CLIENTS = Clients(P)
UNEVEN = FixedTimes(["2.1", 1, "0.6", Fraction(1, 3)])
MEANS = np.array([1.4, 0.9, 0.5, 0.3])
RANDOM = ExponentialTimes(MEANS, seed=3)


# Two objectives.


def test_weights_that_are_the_importances_minimize_the_right_objective():
    same = Surrogate(P, 3 * P)
    assert same.chi_square() == pytest.approx(0, abs=1e-30)
    assert not same.biased
    assert same.total == pytest.approx(3)
    assert same.normalized == pytest.approx(P)


def test_chi_square_is_the_sum_over_clients_or_over_types():
    given = np.array([0.1, 0.2, 0.3, 0.4])
    naive = sum((p - q) ** 2 / q for p, q in zip(P, given, strict=True))
    assert Surrogate(P, 7 * given).chi_square() == pytest.approx(naive)
    types = {0: (0.4 + 0.3, 0.1 + 0.3), 1: (0.1 + 0.2, 0.2 + 0.4)}
    naive = sum((r - s) ** 2 / s for r, s in types.values())
    assert Surrogate(P, given).chi_square([0, 1, 0, 1]) == pytest.approx(naive)
    assert Surrogate(P, given).chi_square(np.zeros(4)) == pytest.approx(0, abs=1e-30)


def test_a_client_that_counts_and_is_never_heard_is_infinitely_far_away():
    assert Surrogate(P, np.array([0.0, 1, 1, 1])).chi_square() == inf
    nobody = np.array([0.5, 0.5, 0.0])
    assert Surrogate(nobody, nobody).chi_square() == 0
    assert Surrogate(P, np.array([0.0, 1, 1, 1])).chi_square([0, 1, 0, 1]) < inf
    assert Surrogate(P, np.zeros(4)).biased


def test_losses_deviations_and_optimum_are_weighted_by_both_objectives():
    given, losses = np.array([0.1, 0.2, 0.3, 0.4]), np.array([1.0, 5.0, 2.0, 4.0])
    found = Surrogate(P, 2 * given)
    assert found.losses(losses) == pytest.approx((P @ losses, given @ losses))
    naive = [
        np.sqrt(sum(w * (x - w_all @ losses) ** 2 for w, x in zip(w_all, losses, strict=True)))
        for w_all in (P, given)
    ]
    assert found.deviations(losses) == pytest.approx(naive)
    optima = np.arange(8.0).reshape(4, 2)
    assert found.optimum(optima) == pytest.approx(given @ optima)
    assert found.optimum(losses) == pytest.approx([given @ losses])


def test_types_need_one_number_per_client():
    with pytest.raises(ConfigError, match="types need one number for each of 4 clients"):
        Surrogate(P, P).chi_square([0, 1])


# From policies.


@pytest.mark.parametrize("weights", ["corrected", "identical"])
@pytest.mark.parametrize(
    "make",
    [
        lambda **rest: WaitForAll(hardware=UNEVEN, **rest),
        lambda **rest: Asynchronous(hardware=UNEVEN, **rest),
        lambda **rest: FedFix(0.5, hardware=UNEVEN, **rest),
        lambda **rest: FedFix("0.3", hardware=UNEVEN, **rest),
        lambda **rest: Asynchronous(hardware=UNEVEN, largest_weight=0.9, **rest),
        lambda **rest: Asynchronous(hardware=RANDOM, **rest),
        lambda **rest: Asynchronous(hardware=LogNormalTimes(MEANS, 0.7), **rest),
        lambda **rest: FedFix(0.5, hardware=RANDOM, **rest),
        lambda **rest: FedFix(0.5, hardware=LogNormalTimes(MEANS, 1.0), **rest),
    ],
    ids=[
        "all",
        "async",
        "fedfix",
        "fedfix on the grid",
        "capped",
        "random",
        "lognormal",
        "memoryless",
        "long tails",
    ],
)
def test_closed_forms_are_what_a_long_schedule_counts(make, weights):
    timing = make(weights=weights)
    known = expected_weights(timing, CLIENTS)
    counted = plan_results(timing, CLIENTS, 8000).expected_weights
    random = timing.hardware in (RANDOM,) or isinstance(timing.hardware, LogNormalTimes)
    assert known == pytest.approx(counted, rel=0.2 if random else 1e-2)
    assert surrogate(timing, CLIENTS).expected == pytest.approx(known)
    if weights == "corrected" and timing.largest_weight == inf:
        assert known == pytest.approx(P)


def test_identical_weights_favor_quick_clients_by_how_often_they_report():
    found = surrogate(Asynchronous(hardware=UNEVEN, weights="identical"), CLIENTS).normalized
    rates = np.array([1 / 2.1, 1, 1 / 0.6, 3])
    assert found == pytest.approx(rates / rates.sum())
    found = surrogate(FedFix(0.5, hardware=UNEVEN, weights="identical"), CLIENTS).expected
    assert found == pytest.approx(P / [ceil(2.1 / 0.5), 2, 2, 1])


def test_what_is_not_known_is_counted():
    buffered = FedBuff(2, hardware=UNEVEN)
    assert expected_weights(buffered, CLIENTS) is None
    assert surrogate(buffered, CLIENTS).expected == pytest.approx(P, rel=2e-3)
    assert surrogate(FedBuff(2, hardware=UNEVEN, weights="identical"), CLIENTS).biased
    for timing in (
        Asynchronous(hardware=UNEVEN, dropout=0.1),
        Asynchronous(hardware=UNEVEN, weights="online"),
        Asynchronous(hardware=UNEVEN, staleness="polynomial"),
        Deadline(1.5, hardware=UNEVEN),
    ):
        assert expected_weights(timing, CLIENTS) is None


def test_discounts_of_old_results_are_a_bias_that_is_seen():
    old = surrogate(Asynchronous(hardware=UNEVEN, staleness="polynomial:1"), CLIENTS)
    assert old.biased
    assert old.normalized[0] < P[0]  # the slowest client has the oldest results


def test_asking_changes_nothing_about_the_timing():
    timing = Asynchronous(hardware=UNEVEN)
    timing.begin(CLIENTS)
    jobs = timing.jobs
    surrogate(timing, CLIENTS), window(timing, CLIENTS), constants(timing, CLIENTS)
    assert timing.jobs is jobs
    assert timing.jobs.begun.sum() == 0
    assert PreparedTiming(timing, CLIENTS).policy is not timing
    assert timing.weights == "corrected"


# Windows.


def test_every_window_has_the_same_results_and_no_shorter_one_of_async_does():
    for ticks in ([2, 3, 4], [3, 3, 3], [1, 6], [5], [4, 6, 9]):
        timing, clients = (
            Asynchronous(hardware=FixedTimes(ticks)),
            Clients(np.full(len(ticks), 1 / len(ticks))),
        )
        length = window(timing, clients)
        whole = lcm(*ticks)
        assert length == sum(whole // t for t in ticks)
        steps = plan_schedule(timing, clients, steps=5 * length).steps
        counts = {
            tuple(Timeline(steps[n : n + length], len(ticks)).counts) for n in range(length, 3 * length)
        }
        assert counts == {tuple(whole // t for t in ticks)}


def test_the_window_of_fedfix_is_the_least_common_multiple_of_its_steps():
    for width in ("0.3", "0.5", "0.7", 1, 3):
        steps = [ceil(Fraction(t) / Fraction(str(width))) for t in ("2.1", "1", "0.6", "1/3")]
        assert window(FedFix(width, hardware=UNEVEN), CLIENTS) == lcm(*steps)


def test_only_what_is_fixed_has_a_window():
    assert window(Synchronous(), CLIENTS) == 1
    assert window(WaitForAll(hardware=UNEVEN), CLIENTS) == 1
    assert window(WaitForAll(hardware=RANDOM), CLIENTS) == 1
    assert window(FedBuff(4, hardware=UNEVEN), CLIENTS) == 1
    assert window(FedBuff(1, hardware=UNEVEN), CLIENTS) == window(Asynchronous(hardware=UNEVEN), CLIENTS)
    for timing in (
        FedBuff(2, hardware=UNEVEN),
        Asynchronous(hardware=RANDOM),
        FedFix(0.5, hardware=RANDOM),
        Asynchronous(hardware=UNEVEN, dropout=0.1),
        WaitForAll(hardware=UNEVEN, dropout=0.1),
    ):
        assert window(timing, CLIENTS) is None


# Schedules.


def test_shares_of_ages_sum_to_one_and_are_those_of_the_results():
    schedule = plan_schedule(Asynchronous(hardware=UNEVEN), CLIENTS, steps=500)
    ages = [int(step.number - v) for step in schedule.steps for v in step.versions]
    shares = staleness_shares(schedule)
    assert shares.sum() == pytest.approx(1)
    assert shares == pytest.approx([ages.count(age) / len(ages) for age in range(max(ages) + 1)])
    assert (staleness_shares(plan_schedule(WaitForAll(hardware=UNEVEN), CLIENTS, steps=5)) == [1.0]).all()
    assert staleness_shares(Timeline([], 2)).sum() == 0


def test_traffic_counts_results_up_and_jobs_down():
    schedule = plan_schedule(WaitForAll(hardware=UNEVEN), CLIENTS, until=21)
    found = traffic(schedule, 21, bytes_up=10, bytes_down=3)
    assert found.uplinks == pytest.approx(4 / 2.1)
    assert (found.bytes_up, found.bytes_down) == pytest.approx((10 * found.uplinks, 3 * found.downlinks))
    lossy = plan_schedule(Asynchronous(hardware=UNEVEN, dropout=0.5, weights="identical"), CLIENTS, until=500)
    found = traffic(lossy, 500)
    lost = sum(len(step.lost) for step in lossy.steps)
    assert found.downlinks * 500 == pytest.approx(lossy.counts.sum() + lost)
    assert found.uplinks == pytest.approx(found.downlinks / 2, rel=0.1)


def test_a_schedule_has_as_many_results_as_asked_and_ends_even_if_nobody_reports():
    assert plan_results(FedBuff(3, hardware=UNEVEN), CLIENTS, 100).counts.sum() == 102
    narrow = plan_results(FedFix("0.01", hardware=UNEVEN), CLIENTS, 100)
    assert len(narrow.steps) <= 100
    assert sum(len(step.clients) or 1 for step in narrow.steps) == 100


# Constants.


def test_constants_of_waiting_are_those_of_synchronous_training():
    for timing in (
        Synchronous(),
        WaitForAll(hardware=UNEVEN),
        FedFix(3, hardware=UNEVEN),
        FedBuff(4, hardware=UNEVEN),
    ):
        known = constants(timing, CLIENTS)
        assert (known.alpha, known.beta, known.longest, known.staleness, known.window) == (1, 0, 1, 0, 1)
        assert known.largest == pytest.approx(P.max())


def test_constants_of_async_are_those_of_its_table():
    known = constants(Asynchronous(hardware=UNEVEN), CLIENTS)
    weights = P * np.array([2.1, 1, 0.6, 1 / 3]) * (1 / 2.1 + 1 + 1 / 0.6 + 3)
    assert known.alpha == 0
    assert (known.beta, known.longest, known.largest) == pytest.approx((weights.max(),) * 3)
    equal = constants(Asynchronous(hardware="equal"), Clients(np.full(7, 1 / 7)))
    assert (equal.staleness, equal.window, equal.beta) == (6, 7, pytest.approx(1))
    assert constants(FedBuff(1, hardware=UNEVEN), CLIENTS).alpha == 0


def test_constants_of_fedfix_are_those_of_its_table():
    known = constants(FedFix(0.5, hardware=UNEVEN), CLIENTS)
    steps = np.array([5, 2, 2, 1])
    assert (known.alpha, known.beta, known.window) == (1, 0, 10)
    assert known.staleness == steps.max() - 1
    assert known.longest == pytest.approx((steps * P).sum())
    assert known.largest == pytest.approx((steps * P).max())


@pytest.mark.parametrize(
    "timing", [Asynchronous(hardware=RANDOM), FedFix(0.5, hardware=RANDOM)], ids=["async", "fedfix"]
)
def test_alpha_and_beta_give_the_second_moment_of_what_the_server_receives(timing):
    """E||sum w_i x_i||^2 over all sets of clients that may report, against the lemma's right-hand side."""
    known, weights = constants(timing, CLIENTS), PreparedTiming(timing, CLIENTS).policy.weighing.fixed
    x = np.random.default_rng(0).normal(size=(4, 3))
    if isinstance(timing, Asynchronous):
        rates = (1 / MEANS) / (1 / MEANS).sum()
        chances = {tuple(np.eye(4)[i]): rates[i] for i in range(4)}
    else:
        ready = 1 - np.exp(-0.5 / MEANS)
        chances = {s: np.prod(np.where(s, ready, 1 - ready)) for s in product((0.0, 1.0), repeat=4)}
    exact = sum(
        chance * ((np.array(s) * weights) @ x @ ((np.array(s) * weights) @ x))
        for s, chance in chances.items()
    )
    expected = sum(chance * np.array(s) * weights for s, chance in chances.items())
    gammas = (
        sum(chance * np.array(s) * weights**2 for s, chance in chances.items()) - known.alpha * expected**2
    )
    middle = expected @ x
    assert gammas @ (x**2).sum(axis=1) + known.alpha * middle @ middle == pytest.approx(exact)
    assert (gammas <= known.beta * expected + 1e-12).all()
    assert known.beta == pytest.approx((weights - known.alpha * expected).max())
    assert known.longest == pytest.approx(1)


def test_pairs_are_not_known_where_buffers_or_losses_are_random():
    for timing in (
        FedBuff(2, hardware=RANDOM, weights="identical"),
        FedFix(0.5, hardware=UNEVEN, dropout=0.2, weights="identical"),
        Asynchronous(hardware=UNEVEN, weights="online"),
    ):
        known = constants(timing, CLIENTS)
        assert known.alpha is None
        assert known.beta is None
        assert known.window is None


def test_a_schedule_of_ones_own_tells_how_old_results_get():
    step = Step(5, np.array([0]), np.array([2]), np.array([1.0]), 1.0)
    assert constants(Asynchronous(hardware=UNEVEN), CLIENTS, Timeline([step], 4)).staleness == 3


def test_a_timing_without_hardware_says_so():
    with pytest.raises(ConfigError, match="Synchronous has no hardware"):
        _ = PreparedTiming(Synchronous(), CLIENTS).policy
