"""Are clients that come and go weighted as the strategy says, whichever of them the sampler draws?"""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation import (
    AdaFed,
    Always,
    AvailableOnly,
    CAFed,
    Diurnal,
    Estimated,
    F3ast,
    Intermittent,
    Known,
    Markov,
    MoreAvailable,
    Multinomial,
    PowerOfChoice,
    RoundContext,
    Trace,
    Unbiased,
    check_cohort,
    sampler_registry,
)
from unalike.participation.availability import simulate

SIZES = np.array([10, 40, 5, 25, 20, 30])
IMPORTANCE = SIZES / SIZES.sum()
ACTIVE = np.array([0.9, 0.5, 0.3, 0.6, 0.4, 0.8])
HERE = np.array([True, False, True, True, False, True])
THERE = np.flatnonzero(HERE)
UNBIASED = (
    "full",
    "md",
    "uniform",
    "uniform-with-replacement",
    "binomial",
    "poisson",
    "clustered-size",
    "clustered-similarity",
    "optimal",
)
STRATEGIES = (AvailableOnly, Unbiased, MoreAvailable, AdaFed, F3ast, CAFed)


def sampler(name, per_round=2):
    return sampler_registry.make(name, per_round=per_round, sizes=SIZES, seed=0)


def answer(question, clients):
    """Every client has a loss and an update of its own."""
    return 1.0 + np.asarray(clients, float)


def turn(number, seed=0):
    return RoundContext(number, IMPORTANCE, seed, answer)


def always(here=HERE):
    """The same clients in every round."""
    return Trace(here[None, :], after="repeat")


def chain():
    return Markov(ACTIVE, np.full(6, 0.5))


def cohorts(participation, first, last, seed=0):
    return [participation.cohort(turn(number, seed)) for number in range(first, last)]


def same(one, other):
    return (
        np.array_equal(one.clients, other.clients)
        and np.array_equal(one.weights, other.weights)
        and one.notes.keys() == other.notes.keys()
        and all(np.array_equal(one.notes[key], other.notes[key]) for key in one.notes)
    )


# The weights are kept on average.


def mean_weights(participation, rounds=1000):
    """The mean weight of each client, and five standard errors of it."""
    weights = np.zeros((rounds, len(IMPORTANCE)))
    for number in range(rounds):
        cohort = check_cohort(participation.cohort(turn(number)), len(IMPORTANCE))
        weights[number, cohort.clients] = cohort.weights
    return weights.mean(axis=0), 5 * weights.std(axis=0) / np.sqrt(rounds)


@pytest.mark.parametrize("name", UNBIASED)
@pytest.mark.parametrize("strategy", [Unbiased, AdaFed])
def test_given_who_is_there_a_samplers_mean_weights_are_those_of_the_strategy(name, strategy):
    beliefs = Known(ACTIVE, 0.0)
    participation = Intermittent(always(), strategy(), sampler(name), beliefs)
    everyone = Intermittent(always(), strategy(), None, beliefs).cohort(turn(0))
    assert everyone.clients.tolist() == THERE.tolist()
    wanted = np.zeros(6)
    wanted[THERE] = everyone.weights
    fair = IMPORTANCE / ACTIVE * HERE
    assert np.allclose(wanted, fair if strategy is Unbiased else fair / fair.sum())
    mean, error = mean_weights(participation)
    assert (np.abs(mean - wanted) <= error + 1e-12).all()


def test_poisson_sampling_keeps_the_weights_of_clients_too_important_for_a_coin():
    """Three of four clients: one of them has more than a third of the weight, so it comes with certainty."""
    participation = Intermittent(always(), AvailableOnly(), sampler("poisson", 3))
    wanted = np.where(HERE, IMPORTANCE, 0) / IMPORTANCE[HERE].sum()
    assert 3 * wanted.max() > 1
    mean, error = mean_weights(participation)
    assert (np.abs(mean - wanted) <= error + 1e-12).all()
    assert mean[5] == pytest.approx(wanted[5], rel=1e-12)


def test_unbiased_weights_behind_chains_and_a_sampler_are_the_importance_on_average():
    """Over time as well as over draws: the chain is slow, so its own variance comes on top."""
    rounds = 3000
    participation = Intermittent(chain(), Unbiased(), sampler("md"), Known(ACTIVE, 0.5))
    weights = np.zeros((rounds, 6))
    for number in range(rounds):
        cohort = participation.cohort(turn(number))
        weights[number, cohort.clients] = cohort.weights
    blocks = weights.reshape(30, 100, 6).mean(axis=1)  # longer than the chains remember
    error = 5 * blocks.std(axis=0, ddof=1) / np.sqrt(30)
    assert (np.abs(weights.mean(axis=0) - IMPORTANCE) < error).all()


def test_a_sampler_that_draws_everyone_changes_nothing():
    plain, full, uniform = (
        Intermittent(chain(), Unbiased(), part) for part in (None, sampler("full"), sampler("uniform", 6))
    )
    for number in range(20):
        one, *others = (participation.cohort(turn(number)) for participation in (plain, full, uniform))
        for other in others:
            assert np.array_equal(one.clients, other.clients)
            assert np.allclose(one.weights, other.weights, rtol=1e-12)


# Who is named.


@pytest.mark.parametrize("name", [*UNBIASED, "fedavg-renormalized", "fedavg-original", "power-of-choice"])
def test_a_cohort_names_clients_by_their_number_in_the_federation_and_only_those_that_are_there(name):
    participation = Intermittent(chain(), Unbiased(), sampler(name))
    participation.check(6, 60)
    for number in range(60):
        cohort = check_cohort(participation.cohort(turn(number)), 6)
        assert set(cohort.clients.tolist()) <= set(cohort.notes["available"].tolist())
        assert (cohort.weights > 0).all()


def test_notes_say_who_was_available_and_whom_the_strategy_excludes():
    cohort = Intermittent(always(), MoreAvailable(), None, Known(ACTIVE, 0.0)).cohort(turn(0))
    assert cohort.notes["available"].tolist() == THERE.tolist()
    assert cohort.notes["excluded"].tolist() == [1, 2, 4], "whether they are there or not"
    assert cohort.clients.tolist() == [0, 3, 5]


def test_a_client_without_importance_is_neither_used_nor_called_excluded():
    told = RoundContext(0, np.array([0.5, 0.5, 0.0]), 0, answer)
    for strategy in (AvailableOnly(), Unbiased(), CAFed()):
        cohort = Intermittent(Always(clients=3), strategy).cohort(told)
        assert cohort.clients.tolist() == [0, 1]
        assert cohort.notes["excluded"].tolist() == []


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", [None, "md", "optimal", "power-of-choice", "clustered-similarity"])
def test_when_nobody_is_there_the_cohort_is_empty_and_says_so(strategy, name):
    nobody = always(np.zeros(6, bool))
    participation = Intermittent(nobody, strategy(), None if name is None else sampler(name))
    cohort = check_cohort(participation.cohort(RoundContext(0, IMPORTANCE)), 6)  # and nobody can be asked
    assert len(cohort.clients) == len(cohort.weights) == 0
    assert cohort.notes["available"].tolist() == []


def test_when_all_that_are_there_are_excluded_the_cohort_is_empty_too():
    here = np.array([False, True, True, False, True, False])
    cohort = Intermittent(always(here), MoreAvailable(), sampler("md"), Known(ACTIVE, 0.0)).cohort(turn(0))
    assert len(cohort.clients) == 0
    assert cohort.notes["available"].tolist() == [1, 2, 4]


# The same trace for everyone.


def test_every_strategy_and_sampler_meets_the_same_clients_under_the_same_seed():
    wanted = simulate(chain(), 25, seed=4)
    for strategy in STRATEGIES:
        for name in (None, "md", "optimal"):
            participation = Intermittent(chain(), strategy(), None if name is None else sampler(name))
            for number, cohort in enumerate(cohorts(participation, 0, 25, seed=4)):
                assert cohort.notes["available"].tolist() == np.flatnonzero(wanted[number]).tolist()


def test_another_seed_is_another_trace():
    one, two = (
        [c.notes["available"].tolist() for c in cohorts(Intermittent(chain()), 0, 10, seed)]
        for seed in (0, 1)
    )
    assert one != two


def test_without_a_strategy_the_usual_practice_is_followed():
    one = Intermittent(always()).cohort(turn(0))
    assert np.allclose(one.weights, IMPORTANCE[HERE] / IMPORTANCE[HERE].sum())


# State.


@pytest.mark.parametrize("availability", [chain, lambda: Diurnal(np.arange(6), period=4, correlation=0.5)])
@pytest.mark.parametrize("strategy", [Unbiased, F3ast, lambda: CAFed(0.1, "running")])
@pytest.mark.parametrize("name", [None, "md", "power-of-choice:3,4"])
def test_a_resumed_participation_draws_the_same_cohorts(availability, strategy, name):
    whole, stopped, resumed = (
        Intermittent(availability(), strategy(), None if name is None else sampler(name)) for _ in range(3)
    )
    expected = cohorts(whole, 0, 16)
    cohorts(stopped, 0, 7)
    resumed.check(6, 16)
    resumed.restore({key: value.copy() for key, value in stopped.state().items()})
    assert all(map(same, cohorts(resumed, 7, 16), expected[7:]))


def test_a_sampler_that_learns_is_taught_and_resumed():
    def taught(participation, first, last):
        drawn = []
        for number in range(first, last):
            cohort = participation.cohort(turn(number))
            updates = np.eye(6)[cohort.clients] + number / 10
            participation.observe(number, cohort, {"update": updates})
            drawn.append(cohort)
        return drawn

    whole, stopped, resumed = (
        Intermittent(chain(), Unbiased(), sampler("clustered-similarity")) for _ in range(3)
    )
    assert whole.learns
    assert whole.watches == ("update",)
    expected = taught(whole, 0, 14)
    taught(stopped, 0, 6)
    resumed.restore(stopped.state())
    assert all(map(same, taught(resumed, 6, 14), expected[6:]))


def test_without_a_sampler_that_learns_nothing_is_learned():
    for part in (None, sampler("md")):
        participation = Intermittent(chain(), Unbiased(), part)
        assert not participation.learns
        participation.observe(0, participation.cohort(turn(0)), {})


def test_the_same_object_serves_a_second_run_as_it_served_the_first():
    for strategy in (Unbiased(), F3ast(), CAFed(0.1, "running")):
        participation = Intermittent(chain(), strategy, sampler("power-of-choice:3,4"))
        participation.check(6, 9)
        first = cohorts(participation, 0, 9)
        participation.check(6, 9)
        assert all(map(same, cohorts(participation, 0, 9), first))


def test_given_beliefs_that_are_estimated_serve_a_second_run_as_they_served_the_first():
    participation = Intermittent(chain(), Unbiased(), beliefs=Estimated(6, forgetting=0.9))
    participation.check(6, 9)
    first = cohorts(participation, 0, 9)
    participation.check(6, 9)
    assert all(map(same, cohorts(participation, 0, 9), first))


def test_what_was_seen_before_a_run_is_believed_in_it():
    """And the run does not teach the beliefs that were given: a second one starts where the first did."""
    before = Estimated(6, forgetting=0.9)
    for _ in range(50):
        before.see(np.arange(6) < 3)
    known = before.active.copy()
    participation = Intermittent(chain(), Unbiased(), beliefs=before)
    participation.check(6, 9)
    np.testing.assert_array_equal(participation.beliefs.active, known)
    first = cohorts(participation, 0, 9)
    np.testing.assert_array_equal(before.active, known)
    participation.check(6, 9)
    assert all(map(same, cohorts(participation, 0, 9), first))


# What it asks, and what it refuses.


def test_it_asks_what_its_strategy_and_its_sampler_ask():
    assert Intermittent(chain()).asks == ()
    assert Intermittent(chain(), CAFed()).asks == ("loss",)
    assert Intermittent(chain(), Unbiased(), sampler("optimal")).asks == ("update_norm",)
    assert set(Intermittent(chain(), CAFed(), sampler("optimal")).asks) == {"loss", "update_norm"}


def test_only_the_clients_that_are_there_are_asked():
    asked = []

    def ask(question, clients):
        asked.append((question, clients.tolist()))
        return answer(question, clients)

    participation = Intermittent(always(), CAFed(1e6), sampler("optimal"))
    participation.cohort(RoundContext(0, IMPORTANCE, 0, ask))
    assert asked == [("loss", THERE.tolist()), ("update_norm", THERE.tolist())]


@pytest.mark.parametrize(
    ("participation", "rounds", "words"),
    [
        (Intermittent(Always(clients=5)), 9, "speaks of 5 clients, but the federation has 6"),
        (
            Intermittent(Trace(np.ones((3, 6), bool))),
            9,
            "the trace has 3 rounds, fewer than the 9 of this run",
        ),
        (Intermittent(chain(), F3ast(per_round=7)), 9, r"number of clients \(6\), but is 7"),
        (Intermittent(chain(), CAFed(minima=np.zeros(5))), 9, "minima speaks of 5 clients, but there are 6"),
        (Intermittent(chain(), None, Multinomial(per_round=7)), 9, r"number of clients \(6\), but is 7"),
        (Intermittent(chain(), None, PowerOfChoice(per_round=0)), 9, "but is 0"),
    ],
)
def test_what_cannot_serve_these_clients_is_refused_beforehand(participation, rounds, words):
    with pytest.raises(ConfigError, match=words):
        participation.check(6, rounds)


@pytest.mark.parametrize("beliefs", [Known(np.full(5, 0.5), 0.0), Estimated(7)])
def test_beliefs_about_other_clients_are_refused_beforehand(beliefs):
    with pytest.raises(ConfigError, match="clients"):
        Intermittent(chain(), Unbiased(), beliefs=beliefs).check(6, 9)
