"""Are L2SGD's rounds the steps of its paper, and are its coins fair and common to all clients?"""

import jax
import numpy as np
import pytest

from unalike.algorithms.l2sgd import L2SGD
from unalike.errors import ConfigError

from . import naive
from .personalized import IMPORTANCE, RATE, WORK, assert_agrees, batches, descend, simulate, trained

SEED = 8
"""In the second round, coins fall so that clients move to the mean twice and step more often than planned."""


def tosses(run):
    """How often clients moved to the mean and down their slopes, in each round."""
    told = [run.setting.algorithm.broadcast(naive.task(), run.history.state(number)) for number in range(2)]
    return [(int(message["moves"]), int(message["steps"])) for message in told]


def one_coin_after_the_other(run, lam, p):
    """The loop of the paper, step by step, with the coins that fell in the run."""
    pull, coins, models = min(RATE * lam * (1 - p) / p, 1), [], {}

    def client(theta, own, planned):
        moves, steps = tosses(run)[len(coins) // 2]
        coins.append(None)
        for _ in range(moves):
            own = own - pull * (own - theta)
        for s in range(steps):
            own = descend(own, [planned[s % len(planned)]])
        return own, own

    def mean_of_all(theta, uploads, cohort):
        models.update(zip(cohort, uploads, strict=True))
        return np.average(list(models.values()), axis=0, weights=IMPORTANCE[list(models)])

    return simulate(
        client,
        lambda theta, planned: descend(theta, planned, anchor=theta, mu=min(lam, 1 / RATE)),
        server=mean_of_all,
    )


@pytest.mark.parametrize("lam", [3.0, 0.0])
def test_two_rounds_and_a_newcomer_equal_the_paper(lam):
    run = trained(L2SGD(work=WORK, lam=lam, p=0.5), SEED)
    moves, steps = tosses(run)[1]
    assert moves > 1
    assert steps > len(batches(1))  # so that mini-batches are taken again from the first
    assert_agrees(run, one_coin_after_the_other(run, lam, 0.5))


def test_a_pull_that_would_go_too_far_ends_at_the_mean():
    """What is left is descent from the mean: FedAvg with a random number of steps."""
    run = trained(L2SGD(work=WORK, lam=1e3, p=0.5), SEED)
    assert_agrees(run, one_coin_after_the_other(run, 1e3, 0.5))


def test_runs_of_equal_tosses_are_as_long_as_those_of_a_coin():
    algorithm = L2SGD(p=0.25)
    states = jax.vmap(lambda key: algorithm.init(naive.task(), key))(
        jax.random.split(jax.random.key(3), 4000)
    )
    told = jax.vmap(lambda state: algorithm.broadcast(naive.task(), state))(states)
    for name, chance in (("steps", 0.25), ("moves", 0.75)):
        lengths = np.asarray(told[name])
        assert lengths.min() == 1
        assert lengths.mean() == pytest.approx(1 / chance, rel=0.05)
        assert (lengths == 1).mean() == pytest.approx(chance, abs=0.03)


def test_every_round_tosses_anew_and_another_seed_tosses_otherwise():
    algorithm = L2SGD(work=WORK, lam=3.0, p=0.5)
    coins = [np.asarray(trained(algorithm, SEED).history.state(number)["coin"]) for number in range(3)]
    coins.append(np.asarray(algorithm.init(naive.task(), jax.random.key(9))["coin"]))
    assert len({tuple(coin) for coin in coins}) == 4


@pytest.mark.parametrize("p", [0.0, 1.0, -0.5, float("nan")])
def test_a_coin_with_one_side_is_refused(p):
    with pytest.raises(ConfigError, match="p must be above 0 and below 1, but is"):
        L2SGD(p=p)
