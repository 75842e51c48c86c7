"""Is it known how often clients report, however many there are, and is that judged by other luck?"""

import warnings

import numpy as np
import pytest

from unalike.participation import Cohort, Multinomial, RoundContext
from unalike.theory.asynchrony.objective import surrogate
from unalike.timing import (
    Asynchronous,
    Clients,
    ExponentialTimes,
    FedBuff,
    FedFix,
    FixedTimes,
    LogNormalTimes,
    OverSelection,
    WaitForAll,
    plan_schedule,
)
from unalike.timing import report_frequency as module
from unalike.timing.clock.hardware import Hardware, spread_times, summed_tail
from unalike.timing.clock.measured_times import TraceTimes
from unalike.timing.report_frequency import reporting


def equally(clients, seed=0):
    return Clients(np.full(clients, 1 / clients), seed)


def begun(policy, clients):
    policy.begin(clients)
    return policy


# ----------------------------------------------------------------------------------- FedFix, by formula


def drawn_times(kind, means, rng, jobs):
    """Times of a distribution, drawn without the library."""
    if kind == "exponential":
        return rng.exponential(means, (jobs, len(means)))
    return rng.lognormal(np.log(means) - 0.5, 1.0, (jobs, len(means)))


@pytest.mark.parametrize("timeout", [None, 1.3])
@pytest.mark.parametrize("window", [0.07, 0.5, 3.0])
@pytest.mark.parametrize("kind", ["exponential", "lognormal"])
def test_fedfix_reports_as_often_as_jobs_fill_windows(kind, window, timeout):
    means = np.array([0.2, 0.5, 1.0, 2.0])
    hardware = ExponentialTimes(means) if kind == "exponential" else LogNormalTimes(means, 1.0)
    policy = begun(FedFix(window, hardware=hardware, timeout=timeout, dropout=0.2), equally(4))
    times = drawn_times(kind, means, np.random.default_rng(0), 100_000)
    limit = np.inf if timeout is None else timeout
    naive = 0.8 * (times <= limit).mean(axis=0) / np.ceil(np.minimum(times, limit) / window).mean(axis=0)
    np.testing.assert_allclose(policy.frequency(), naive, rtol=0.02)
    np.testing.assert_allclose(policy.weighing.fixed, 0.25 / policy.frequency(), rtol=1e-12)


def test_fixed_times_that_are_lost_or_given_up_are_counted_exactly():
    policy = FedFix(0.5, hardware=FixedTimes([0.4, 1.2, 1.6, 3.0]), timeout=1.6, dropout=0.25)
    assert begun(policy, equally(4)).frequency().tolist() == [0.75, 0.25, 0.75 / 4, 0]
    counted = plan_schedule(policy, equally(4), steps=40_000).frequency
    np.testing.assert_allclose(policy.frequency(), counted, rtol=0.03)


def test_measured_times_are_replayed_exactly():
    trace = TraceTimes([[0.2, 0.9], [1.0], [0.5, 0.5, 1.1]])
    frequency = begun(FedFix(0.5, hardware=trace), equally(3)).frequency()
    assert frequency.tolist() == pytest.approx([2 / 3, 1 / 2, 3 / 5])
    counted = plan_schedule(FedFix(0.5, hardware=trace), equally(3), steps=6000).frequency
    np.testing.assert_allclose(counted, frequency)


def test_a_long_tail_is_summed_as_if_term_by_term():
    times = LogNormalTimes([0.3, 1.0], 1.5)

    def later(time):
        return 1 - times.chance_within(time)

    naive = 1 + sum(later(0.01 * k) for k in range(1, 30_000))
    np.testing.assert_allclose(summed_tail(later, 0.01, longest=300.0), naive, rtol=1e-4)
    # Narrow windows: a job lasts as many as fit, and half of one on top.
    np.testing.assert_allclose(summed_tail(later, 0.001), times.mean / 0.001 + 0.5, rtol=1e-4)


def test_ten_thousand_clients_with_long_tails_all_weigh_what_they_should():
    """Equal clients weigh the same, and nobody weighs nothing."""
    policy = begun(FedFix(0.5, hardware=LogNormalTimes(np.ones(10_000), 1.0)), equally(10_000))
    assert policy.weighing.fixed.min() > 0
    assert np.ptp(policy.weighing.fixed) < 1e-12 * policy.weighing.fixed.max()


# ---------------------------------------------------------------------------------------- others, by renewal


@pytest.mark.parametrize(
    "policy",
    [
        FedBuff(20, hardware=FixedTimes(spread_times(100, 80))),
        FedBuff(7, hardware=ExponentialTimes(spread_times(20, 80))),
        FedBuff(5, hardware=LogNormalTimes(spread_times(20, 80), 1.0), dropout=0.3, timeout=1.5),
        Asynchronous(hardware=FixedTimes(spread_times(20, 80)), dropout=0.5),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_many_clients_report_as_often_as_a_very_long_schedule_counts(policy):
    clients = equally(len(policy.hardware.mean))
    found = reporting(policy, clients).frequency
    plain = type(policy)(**{**vars(policy), "weights": "identical"})
    results = plan_schedule(plain, clients, steps=15_000 // getattr(policy, "buffer", 1))
    counts = results.counts
    np.testing.assert_allclose(found, results.frequency, rtol=0.01 + 4 / np.sqrt(counts.min()))
    assert found.sum() == pytest.approx(results.frequency.sum(), rel=0.01)
    slope = np.polyfit(np.log(found), np.log(results.frequency), 1)[0]  # without the noise of single clients
    assert slope == pytest.approx(1, abs=0.03)


def test_thousands_of_clients_and_a_small_buffer_are_not_a_matter_of_luck():
    """Clients hardly wait, so that they report as if the server waited for nobody."""
    policy = begun(FedBuff(10, hardware=FixedTimes(spread_times(3000, 80))), equally(3000))
    rates = 1 / policy.times.mean
    np.testing.assert_allclose(3000 * 10 * policy.weighing.fixed * rates / rates.sum(), 1, rtol=0.01)


def test_few_clients_are_counted_as_they_were():
    """The last three quarters of 4,000 results for each client, to the bit."""
    hardware = FixedTimes(spread_times(10, 80))
    plain = FedBuff(3, hardware=hardware, weights="identical")
    steps = plan_schedule(plain, equally(10), steps=-(-40_000 // 3)).steps
    kept = steps[len(steps) // 4 :]
    counts = np.bincount(np.concatenate([step.clients for step in kept]), minlength=10)
    policy = begun(FedBuff(3, hardware=hardware), equally(10))
    assert np.array_equal(policy.weighing.fixed, 0.1 / (counts / len(kept)))


class Slow(Hardware):
    """A user's own hardware that does not know its chances; the last client is not heard for long."""

    resolution = 1

    def __init__(self, times):
        self.mean = np.array(times, float)

    def ticks(self, clients, jobs):
        return self.mean[clients].astype(np.int64) + jobs % 2


def test_whoever_was_not_heard_in_a_rehearsal_still_weighs_something():
    policy = begun(FedFix(1, hardware=Slow([1] * 5 + [10**6])), equally(6))
    assert policy.frequency() is None
    assert (policy.weighing.fixed > 0).all()


def test_a_rehearsal_that_is_too_short_for_its_clients_says_so(monkeypatch):
    monkeypatch.setattr(module, "MOST", 1000)
    monkeypatch.setattr(module, "COUNTED", 100)
    with pytest.warns(UserWarning, match="imprecise"):
        reporting(FedBuff(10, hardware=ExponentialTimes(np.ones(500))), equally(500))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reporting(FedBuff(10, hardware=ExponentialTimes(np.ones(100))), equally(100))


# ------------------------------------------------------------------------------- a bias is seen by other luck


def test_weights_are_not_judged_by_the_rehearsal_that_made_them():
    policy = FedBuff(3, hardware=ExponentialTimes(spread_times(10, 80)))
    found = surrogate(policy, equally(10))
    assert found.chi_square() > 1e-9  # what luck there was in the weights is seen
    assert not found.biased
    plain = surrogate(FedBuff(3, hardware=policy.hardware, weights="identical"), equally(10))
    assert plain.biased


def test_fixed_times_are_judged_at_a_later_time():
    """There is no other luck, but what clients waited in the dry run is not what they wait for ever."""
    policy = FedBuff(7, hardware=FixedTimes(spread_times(100, 80)))
    found = surrogate(policy, equally(100))
    assert 1e-12 < found.chi_square() < 1e-3


def test_other_luck_is_other_times_of_the_same_clients():
    times = LogNormalTimes([1.0, 2.0], 0.5, seed=4)
    everyone, first = np.arange(2), np.zeros(2, np.int64)
    assert not np.array_equal(times.ticks(everyone, first), times.again().ticks(everyone, first))
    assert np.array_equal(times.again().ticks(everyone, first), times.again().ticks(everyone, first))
    assert np.array_equal(times.again().mean, times.mean)


# --------------------------------------------------------------------------------- cohorts of which some come


def mean_weights(policy, draw, clients, rounds):
    total = np.zeros(len(clients.importance))
    for step, _ in zip(begun(policy, clients).steps(draw, 0), range(rounds), strict=False):
        total[step.clients] += step.weights
    return total / rounds


def whole(clients):
    cohort = Cohort(np.arange(len(clients.importance)), clients.importance)
    return lambda number: cohort


@pytest.mark.parametrize(
    "hardware", [LogNormalTimes([0.3, 0.6, 1.0, 2.0], 1.0), ExponentialTimes([0.3, 0.6, 1, 2])]
)
def test_waiting_for_all_with_a_time_out_makes_up_for_those_that_are_given_up(hardware):
    clients = Clients(np.array([0.1, 0.2, 0.3, 0.4]))
    policy = WaitForAll(hardware=hardware, timeout=1.2, dropout=0.1)
    found = mean_weights(policy, whole(clients), clients, 4000)
    np.testing.assert_allclose(found, clients.importance, rtol=0.08)
    step = next(step for step in begun(policy, clients).steps(whole(clients), 0) if len(step.clients))
    chance = 0.9 * hardware.chance_within(1.2)[step.clients]
    np.testing.assert_allclose(step.weights, clients.importance[step.clients] / chance)
    plain = WaitForAll(hardware=hardware, timeout=1.2, weights="identical")
    assert mean_weights(plain, whole(clients), clients, 500)[3] < 0.35


def test_waiting_for_all_without_a_time_out_leaves_weights_alone():
    clients = Clients(np.array([0.1, 0.9]))
    step = next(begun(WaitForAll(hardware=ExponentialTimes([1, 2])), clients).steps(whole(clients), 0))
    assert step.weights.tolist() == [0.1, 0.9]


def test_over_selection_of_clients_that_are_drawn_several_times_counts_everyone_as_it_should():
    """A cohort of few different clients weighs more for each and loses fewer of them."""
    importance = np.array([0.4, 0.3, 0.2, 0.1])
    clients = Clients(importance)
    sampler = Multinomial(per_round=4)
    policy = OverSelection(2, hardware=ExponentialTimes([1.0, 0.7, 0.5, 0.3]))
    found = mean_weights(policy, lambda n: sampler.cohort(RoundContext(n, importance)), clients, 8_000)
    assert found.sum() == pytest.approx(1, abs=0.01)
    np.testing.assert_allclose(found, importance, rtol=0.05)
