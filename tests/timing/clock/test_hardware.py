"""Are times exact where they are fixed, right on average where they are random, and independent of others?"""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import ndtr

from unalike.errors import ConfigError
from unalike.theory.asynchrony.objective import surrogate
from unalike.timing import (
    Asynchronous,
    Clients,
    ExponentialTimes,
    FixedTimes,
    Hardware,
    LogNormalTimes,
    hardware_registry,
)
from unalike.timing.clock.hardware import FINE, exact_time, spread_times

JOBS = np.arange(20_000)


def times(hardware, client, jobs=JOBS):
    """How long some jobs of a client take, in units of time."""
    return hardware.ticks(np.full(len(jobs), client), jobs) / hardware.resolution


# ------------------------------------------------------------------------------------------- exact times


@pytest.mark.parametrize(
    ("given", "exact"),
    [
        (2, Fraction(2)),
        (0.1, Fraction(1, 10)),
        (np.float64(0.3), Fraction(3, 10)),
        (np.int64(7), Fraction(7)),
        ("2.1", Fraction(21, 10)),
        ("1/3", Fraction(1, 3)),
        (Fraction(5, 7), Fraction(5, 7)),
        (1e-3, Fraction(1, 1000)),
    ],
)
def test_decimals_mean_what_they_say(given, exact):
    assert exact_time(given) == exact


@pytest.mark.parametrize("bad", [0, -1, "0.0", -0.5, Fraction(-1, 3)])
def test_times_that_are_not_positive_are_refused(bad):
    with pytest.raises(ConfigError, match=f"times must be positive, but one is {bad}"):
        exact_time(bad)


@pytest.mark.parametrize("bad", ["soon", float("nan"), float("inf"), "", None, "1/0"])
def test_what_is_not_a_number_is_not_a_time(bad):
    with pytest.raises(ConfigError, match="is not a time; give a positive number"):
        exact_time(bad)


def test_fixed_times_are_whole_numbers_of_a_common_tick():
    given = [Fraction(1, 6), "0.25", 2, 0.7]
    hardware = FixedTimes(given)
    assert hardware.resolution == 60
    assert hardware.ticks(np.arange(4), np.array([0, 5, 9, 1])).tolist() == [10, 15, 120, 42]
    np.testing.assert_allclose(hardware.mean, [1 / 6, 0.25, 2, 0.7], rtol=1e-15)
    assert hardware.fixed


def test_a_job_that_ends_with_the_deadline_is_in_time():
    hardware = FixedTimes([0.3, 0.31, "1/3"])
    assert hardware.chance_within(0.1 + 0.2).tolist() == [1, 0, 0]
    assert hardware.chance_within(1 / 3).tolist() == [1, 1, 1]


def test_times_without_a_common_tick_are_refused():
    with pytest.raises(ConfigError, match="no common tick; round them to a few decimals"):
        FixedTimes([Fraction(1, 999_983), Fraction(1, 999_979), Fraction(1, 17)])


@pytest.mark.parametrize("clients", [1, 2, 10, 20, 50])
@pytest.mark.parametrize("spread", [0, 80, 12.5, 99])
def test_spread_times_are_an_even_grid_from_one_downwards(clients, spread):
    found = spread_times(clients, spread)
    width = Fraction(str(spread)) / 100
    assert len(found) == clients
    assert found[0] == 1
    if clients > 1:
        assert found[-1] == 1 - width
        assert {a - b for a, b in pairwise(found)} == {width / (clients - 1)}


def test_ten_clients_five_times_apart_have_the_tick_of_a_forty_fifth():
    hardware = hardware_registry.make("spread:80", clients=10)
    assert hardware.resolution == 45
    assert hardware.ticks(np.arange(10), np.zeros(10, int)).tolist() == list(range(45, 8, -4))
    assert hardware_registry.make("spread:80", clients=20).resolution == 95
    assert hardware_registry.make("spread:80", clients=50).resolution == 245


@pytest.mark.parametrize("bad", [100, -1, 250, float("nan")])
def test_a_spread_leaves_some_time_to_the_quickest(bad):
    with pytest.raises(ConfigError, match=f"at least 0 and below 100 .percent., but is {bad}"):
        spread_times(5, bad)


@pytest.mark.parametrize("name", ["spread:80", "exponential:80", "lognormal:80,0.5"])
def test_shuffled_times_are_the_same_times_for_other_clients_and_the_seed_deals_them(name):
    plain, *shuffled = (
        hardware_registry.make(name + order, clients=30, seed=seed)
        for order, seed in (("", 1), (",shuffled", 1), (",shuffled", 1), (",shuffled", 2))
    )
    means = [hardware.mean.tolist() for hardware in shuffled]
    assert all(sorted(dealt) == sorted(plain.mean.tolist()) for dealt in means)
    assert means[0] == means[1] != means[2] != plain.mean.tolist()
    assert hardware_registry.make(f"{name},ordered", clients=30, seed=7).mean.tolist() == plain.mean.tolist()


def test_drawn_times_lie_evenly_between_the_slowest_and_the_quickest_on_a_common_tick():
    drawn = spread_times(4000, 80, "uniform", seed=3)
    assert min(drawn) >= Fraction(1, 5)
    assert max(drawn) <= 1
    places = np.sort([float((1 - time) / Fraction(4, 5)) for time in drawn])
    assert np.abs(places - np.arange(1, 4001) / 4000).max() < 1.9 / np.sqrt(4000)  # Kolmogorov
    assert FixedTimes(drawn).resolution <= 5 * 10**6
    assert drawn[:10] == spread_times(10, 80, "uniform", seed=3) != spread_times(10, 80, "uniform", seed=4)


def test_who_is_quick_does_not_change_how_unlike_weights_are_but_where_they_lead():
    """Uncorrected asynchronous weights are (1/tau_i) / sum_j (1/tau_j): chi-square does not ask whose they
    are, the objective that they minimize does."""
    clients = Clients(np.full(12, 1 / 12), 5)
    found = [
        surrogate(Asynchronous(hardware=f"spread:80,{order}", weights="identical"), clients)
        for order in ("ordered", "shuffled")
    ]
    assert found[0].chi_square() == pytest.approx(found[1].chi_square(), rel=1e-12)
    losses = np.arange(12.0)  # the quick clients' losses are the largest, or they are not
    biases = [given.losses(losses)[1] - given.losses(losses)[0] for given in found]
    rates = 1 / np.linspace(1, 0.2, 12)
    assert biases[0] == pytest.approx(rates @ losses / rates.sum() - losses.mean())
    assert abs(biases[1]) < biases[0] / 2


def test_an_order_that_nobody_knows_is_explained():
    with pytest.raises(ConfigError, match="order of times 'shufled'; did you mean 'shuffled'"):
        hardware_registry.make("spread:80,shufled", clients=2)
    with pytest.raises(ConfigError, match="order of times '3'"):
        hardware_registry.make("spread:80,3", clients=2)


def test_hardware_is_made_by_name():
    assert hardware_registry.make("equal:2", clients=3).mean.tolist() == [2, 2, 2]
    assert hardware_registry.make("equal", clients=2, seed=4).mean.tolist() == [1, 1]
    random = hardware_registry.make("exponential:50", clients=2, seed=4)
    assert (random.seed, random.mean.tolist()) == (4, [1, 0.5])
    tailed = hardware_registry.make("lognormal:50,0.25", clients=2, seed=4)
    assert (tailed.sigma, tailed.seed, tailed.mean.tolist()) == (0.25, 4, [1, 0.5])
    with pytest.raises(ConfigError, match="unknown hardware 'sprad'; did you mean 'spread'"):
        hardware_registry.make("sprad", clients=2)
    with pytest.raises(ConfigError, match="'fast' where a number belongs"):
        hardware_registry.make("spread:fast", clients=2)


def test_hardware_that_says_nothing_is_named():
    class Lazy(Hardware):
        pass

    with pytest.raises(NotImplementedError, match="Lazy must implement ticks"):
        Lazy().ticks(np.arange(2), np.arange(2))


# ------------------------------------------------------------------------------------------ random times

RANDOM = [
    ExponentialTimes([1, 0.25], 3),
    LogNormalTimes([1, 0.25], 0.5, 3),
    LogNormalTimes([1, 0.25], 1.0, 3),
]


@pytest.mark.parametrize("hardware", RANDOM)
@pytest.mark.parametrize("client", [0, 1])
def test_random_times_have_their_mean(hardware, client):
    found = times(hardware, client)
    error = found.std() / np.sqrt(len(found))
    assert abs(found.mean() - hardware.mean[client]) < 5 * error
    assert not hardware.fixed
    assert found.min() > 0


def test_memoryless_times_have_their_law():
    found = times(ExponentialTimes([2.0]), 0)
    for share in (0.1, 0.5, 0.9, 0.99):
        below = (found <= -2 * np.log(1 - share)).mean()
        assert abs(below - share) < 5 * np.sqrt(share * (1 - share) / len(found))
    assert abs(np.corrcoef(found[1:], found[:-1])[0, 1]) < 5 / np.sqrt(len(found))


def test_log_normal_times_have_their_law():
    """log T is normal with mean log(mean) - sigma^2/2."""
    logs = np.log(times(LogNormalTimes([3.0], 0.7), 0))
    assert abs(logs.mean() - (np.log(3) - 0.245)) < 5 * 0.7 / np.sqrt(len(logs))
    assert logs.std() == pytest.approx(0.7, rel=5 / np.sqrt(2 * len(logs)))
    assert LogNormalTimes([3.0], 0.0).ticks(np.zeros(4, int), np.arange(4)).tolist() == [3 * FINE] * 4


def test_the_chance_to_be_in_time_is_that_of_memoryless_times():
    hardware = ExponentialTimes([1, 0.6, 0.3])
    np.testing.assert_allclose(hardware.chance_within(0.5), [0.3935, 0.5654, 0.8111], atol=1e-4)
    for client, chance in enumerate(hardware.chance_within(0.5)):
        found = (times(hardware, client) <= 0.5).mean()
        assert abs(found - chance) < 5 * np.sqrt(chance * (1 - chance) / len(JOBS))


def test_the_chance_to_be_in_time_is_that_of_log_normal_times():
    hardware = LogNormalTimes([1.2, 0.8], 0.5)
    expected = ndtr((np.log(1 / hardware.mean) + 0.125) / 0.5)
    np.testing.assert_allclose(hardware.chance_within(1.0), expected, rtol=1e-12)
    for client, chance in enumerate(hardware.chance_within(1.0)):
        found = (times(hardware, client) <= 1).mean()
        assert abs(found - chance) < 5 * np.sqrt(chance * (1 - chance) / len(JOBS))


def test_nobody_knows_the_chance_to_be_in_time_on_a_users_own_hardware():
    class Alternating(Hardware):
        resolution, mean = 1, np.array([2.0])

        def ticks(self, clients, jobs):
            return 1 + 2 * (jobs % 2)

    assert Alternating().chance_within(2) is None


@pytest.mark.parametrize("hardware", RANDOM)
def test_job_j_of_client_i_takes_as_long_whoever_else_is_asked(hardware):
    clients, jobs = np.repeat([0, 1], 50), np.tile(np.arange(50), 2)
    together = hardware.ticks(clients, jobs)
    shuffled = np.random.default_rng(0).permutation(100)
    assert np.array_equal(hardware.ticks(clients[shuffled], jobs[shuffled]), together[shuffled])
    singly = [hardware.ticks(clients[k : k + 1], jobs[k : k + 1])[0] for k in range(100)]
    assert singly == together.tolist()
    assert len(set(together.tolist())) == 100


def test_random_times_belong_to_their_seed():
    first, again, other = (
        ExponentialTimes([1.0], seed).ticks(np.zeros(9, int), np.arange(9)) for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_job_takes_at_least_one_tick():
    assert ExponentialTimes([1e-12]).ticks(np.zeros(100, int), np.arange(100)).min() == 1


@pytest.mark.parametrize("make", [FixedTimes, ExponentialTimes, LogNormalTimes])
def test_every_mean_must_be_positive(make):
    with pytest.raises(ConfigError, match="times must be positive, but one is -2"):
        make([1, -2])


@pytest.mark.parametrize("sigma", [-0.1, float("nan")])
def test_sigma_must_not_be_negative(sigma):
    with pytest.raises(ConfigError, match=f"sigma must not be negative, but is {sigma}"):
        LogNormalTimes([1.0], sigma)
