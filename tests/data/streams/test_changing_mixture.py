"""Do rows arrive in mixtures that change, each of them once, whatever decides how many arrive?"""

from pathlib import Path

import numpy as np
import pytest

import unalike
from unalike import ConfigError, Federation, MemoryStream
from unalike.data.streams import ChangingMixture, arrival_registry
from unalike.experiments.outside_paths import outside_settings

CLASSES, GROUPS = 6, 3


def clients(rows=400, count=5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(CLASSES, size=rows * count)
    owners = np.repeat(np.arange(count), rows)
    return Federation.from_owners(np.arange(len(y), dtype=np.float32)[:, None], y, owners, classes=CLASSES)


def begun(words, federation, rounds=None, seed=3):
    stream = MemoryStream(words, "replace")
    stream.begin(federation, seed, rounds)
    return stream


@pytest.mark.parametrize("inner", ["constant:7", "poisson:5", "spread:30", "bursts:20,4", "constant:5,2"])
def test_every_row_arrives_once_and_as_many_as_without_a_mixture(inner):
    federation = clients(60)
    mixed, plain = (begun(words, federation) for words in (f"mixture:0.1,{GROUPS},{inner}", inner))
    everyone, seen = np.arange(5), []
    for round in range(400):
        one, other = (stream.arriving(round, everyone) for stream in (mixed, plain))
        np.testing.assert_array_equal(one.offsets, other.offsets)
        seen.append(one.rows)
    assert sorted(np.concatenate(seen).tolist()) == list(range(300))


def test_shares_of_a_round_are_the_weights_that_were_drawn():
    """With many rows a round, and enough of each population, the counts are multinomial of the weights."""
    federation = clients(4000, 3)
    stream = begun(f"mixture:1,{GROUPS},constant:200", federation, 8)
    mixture = stream.arrivals.mixture
    groups = mixture.populations(federation)
    for round in range(8):
        weights = mixture.weights(3, 3, round)
        for client in range(3):
            rows = stream.arriving(round, np.array([client])).rows
            shares = np.bincount(groups[federation.train.y[rows]], minlength=GROUPS) / 200
            np.testing.assert_allclose(shares, weights[client], atol=5 * np.sqrt(0.25 / 200))


def test_the_smaller_alpha_the_more_a_round_is_of_one_population():
    federation = clients(2000, 4)

    def largest(alpha):
        stream = begun(f"mixture:{alpha},{GROUPS},constant:10", federation, 30)
        groups = stream.arrivals.mixture.populations(federation)
        found = []
        for round in range(30):
            for client in range(4):
                rows = stream.arriving(round, np.array([client])).rows
                found.append(np.bincount(groups[federation.train.y[rows]]).max() / len(rows))
        return np.mean(found)

    assert largest(0.05) > largest(1) + 0.1 > largest(100) + 0.2


def test_a_longer_run_begins_with_the_same_rounds():
    federation = clients(200)
    short, long = (begun(f"mixture:0.1,{GROUPS},constant:6", federation, rounds) for rounds in (10, 25))
    for round in range(10):
        np.testing.assert_array_equal(*(set(s.arriving(round, np.arange(5)).rows) for s in (short, long)))


def test_weights_are_a_function_of_seed_and_round():
    mixture = ChangingMixture(0.1, GROUPS)
    np.testing.assert_array_equal(mixture.weights(4, 1, 7), mixture.weights(4, 1, 7))
    assert (mixture.weights(4, 1, 7) != mixture.weights(4, 1, 8)).any()


def test_a_mixture_that_is_impossible_is_refused():
    for words, message in (
        ("mixture:0.1,4", "how many rows arrive"),
        ("mixture:0,4,constant:1", "alpha"),
        ("mixture:0.1,2,mixture:0.1,2,constant:1", "of other arrivals"),
    ):
        with pytest.raises(ConfigError, match=message):
            arrival_registry.make(words)
    with pytest.raises(ConfigError, match="as many classes, but there are 6"):
        begun("mixture:0.1,7,constant:3", clients(10))
    with pytest.raises(ConfigError, match="order of their own"):
        MemoryStream("mixture:0.1,2,constant:3", ordered=True).begin(clients(10), 0)


def test_a_file_inside_a_mixture_is_looked_at_like_any_other():
    """Files from others must not open what lies outside their folder."""
    inside = {"stream": "mixture:0.1,4,trace:/etc/hostname"}
    assert outside_settings(inside, Path()) == {"stream": "a path outside its folder"}
    assert outside_settings({"stream": "mixture:0.1,4,constant:6"}, Path()) == {}


def test_all_methods_see_the_same_rows_in_the_same_step():
    """With a stream's round of two rounds, FedAvg and FEM-OMD (two rounds a step) go through one world."""
    federation = unalike.load("gaussians:4,6,4", clients=4, partition="iid", samples=400, seed=1)
    arrived = []
    for method in ("fedavg", "fem-omd"):
        stream = MemoryStream("mixture:0.1,2,constant:5", "replace", period=2)
        run = unalike.train(federation, "linear", method, rounds=8, stream=stream, seed=1, evaluate_every=0)
        arrived.append(run.metrics()["arrived"][1:])
        chosen = run.setting.stream.select(6, np.arange(4)).rows
        arrived.append(chosen)
    np.testing.assert_array_equal(arrived[0], arrived[2])
    np.testing.assert_array_equal(arrived[1], arrived[3])
