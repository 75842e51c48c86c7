"""Do messages take as long as their bytes over the bandwidth, and a latency each way?"""

from fractions import Fraction

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.timing import (
    Asynchronous,
    Clients,
    Deadline,
    ExponentialTimes,
    FedFix,
    FixedTimes,
    NetworkTime,
    WaitForAll,
    plan_schedule,
)
from unalike.timing.clock.network_time import with_network

from ..naive import Table

MEGABYTE = 1_000_000


def told(clients, down=MEGABYTE, up=MEGABYTE):
    return Clients(np.full(clients, 1 / clients), 0, down, up)


def test_bytes_over_bandwidth_and_twice_the_latency():
    network = NetworkTime(down=8, up=2, latency=0.25)
    np.testing.assert_allclose(network.seconds(MEGABYTE, 500_000, 2), [1 + 2 + 0.5] * 2)
    assert NetworkTime(8, 8).seconds(0, 0, 3).tolist() == [0, 0, 0]


def test_every_client_may_have_a_line_of_its_own():
    network = NetworkTime(down=[8, 80], up=[4, 40], latency=[0, 1])
    np.testing.assert_allclose(network.seconds(MEGABYTE, MEGABYTE, 2), [3, 2.3])


def test_a_job_waits_for_its_messages_to_the_tick():
    slow = with_network(FixedTimes(["1/3", 2]), NetworkTime(8, 8), told(2))
    assert slow.fixed
    exact = [Fraction(1, 3) + 2, Fraction(4)]
    ticks = slow.ticks(np.array([0, 1]), np.array([0, 5])).tolist()
    assert [Fraction(int(tick), slow.resolution) for tick in ticks] == exact
    np.testing.assert_allclose(slow.mean, [7 / 3, 4])


def test_random_times_are_shifted_by_the_messages():
    computing = ExponentialTimes([1.0, 0.5], seed=3)
    slow = with_network(computing, NetworkTime(8, 8), told(2))
    clients, jobs = np.array([0, 1, 1]), np.array([0, 0, 7])
    shift = (slow.ticks(clients, jobs) - computing.ticks(clients, jobs)) / slow.resolution
    np.testing.assert_allclose(shift, 2, atol=1e-9)
    assert not slow.fixed
    np.testing.assert_allclose(slow.mean, [3, 2.5])


def test_the_chance_to_be_in_time_is_shifted_too():
    computing = ExponentialTimes([1.0, 0.5])
    slow = with_network(computing, NetworkTime([8, 4], [8, 4]), told(2))
    expected = [-np.expm1(-(3.5 - 2) / 1.0), 0.0]
    np.testing.assert_allclose(slow.chance_within(3.5), expected)
    fixed = with_network(FixedTimes([1, 2]), NetworkTime(8, 8), told(2))
    assert fixed.chance_within(3).tolist() == [1, 0]


@pytest.mark.parametrize("parts", [3, 7 * 10**9])
def test_times_of_ones_own_hardware_are_kept_too(parts):
    computing = Table([[Fraction(parts + 1, parts), Fraction(2)]])
    slow = with_network(computing, NetworkTime(8, 8), told(1))
    found = slow.ticks(np.zeros(2, int), np.arange(2)) / slow.resolution
    np.testing.assert_allclose(found, [3 + 1 / parts, 4], rtol=1e-12)


def test_times_without_a_common_tick_are_refused():
    computing = FixedTimes([Fraction(999_984, 999_983), Fraction(999_980, 999_979)])
    with pytest.raises(ConfigError, match="these times have no common tick; round them to a few decimals"):
        with_network(computing, NetworkTime(8, 8), told(2))


def test_policies_wait_for_messages():
    network = NetworkTime(down=[8, 4, 2], up=100, latency=0)
    extra = 0.08
    schedule = plan_schedule(WaitForAll(network=network), told(3), steps=2)
    np.testing.assert_allclose([step.time for step in schedule.steps], [5 + extra, 10 + 2 * extra])
    one = plan_schedule(Asynchronous(network=network), told(3), steps=1).steps[0]
    assert (one.clients.tolist(), one.time) == ([0], pytest.approx(2 + extra))
    fixed = FedFix(3, network=network)
    fixed.begin(told(3))
    np.testing.assert_allclose(1 / fixed.frequency(), [1, 2, 2])


def test_slow_lines_are_corrected_for_like_slow_machines():
    clients = Clients(np.array([0.5, 0.3, 0.2]), 0, MEGABYTE, 0)
    network = NetworkTime(down=[8, 4, 2])
    for policy in (Asynchronous(network=network), FedFix(1.5, network=network)):
        schedule = plan_schedule(policy, clients, steps=3000)
        np.testing.assert_allclose(schedule.expected_weights, clients.importance, rtol=0.01)
    late = plan_schedule(
        Deadline(3.5, network=network, hardware=ExponentialTimes([1, 1, 1])), clients, steps=4000
    )
    np.testing.assert_allclose(late.expected_weights[:2], clients.importance[:2], rtol=0.1)
    assert late.counts[2] == 0


def test_free_messages_change_nothing():
    with_it, without = (
        plan_schedule(FedFix(0.5, hardware="spread:80", network=network), told(5, 0, 0), steps=40)
        for network in (NetworkTime(), None)
    )
    for a, b in zip(with_it.steps, without.steps, strict=True):
        assert (a.clients.tolist(), a.versions.tolist(), a.time) == (
            b.clients.tolist(),
            b.versions.tolist(),
            b.time,
        )
        assert np.array_equal(a.weights, b.weights)


@pytest.mark.parametrize(
    "network",
    [
        NetworkTime(0, 1),
        NetworkTime(1, -1),
        NetworkTime(1, 1, -0.1),
        NetworkTime([1, 0], 1),
        NetworkTime(float("nan"), 1),
    ],
)
def test_lines_must_have_some_bandwidth_and_no_negative_latency(network):
    with pytest.raises(ConfigError, match="bandwidths must be positive, and latencies must not be negative"):
        network.seconds(1, 1, 2)


def test_there_must_be_as_many_lines_as_clients():
    with pytest.raises(ConfigError, match="3"):
        NetworkTime(down=[1, 2, 3]).seconds(1, 1, 2)


def test_lines_are_read_from_words():
    assert NetworkTime.of("100,20,0.05") == NetworkTime(100, 20, 0.05)
    assert NetworkTime.of("50") == NetworkTime(50)
    for words in ("", "fast", "1,2,3,4"):
        with pytest.raises(
            ConfigError, match=f"bandwidth '{words}' must be megabits down, up, and a latency"
        ):
            NetworkTime.of(words)
