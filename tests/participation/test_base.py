"""Is a turn told right, is a cohort checked, and does a plain participation do nothing?"""

import numpy as np
import pytest

from unalike.core.random import generator
from unalike.errors import ConfigError
from unalike.participation import (
    Cohort,
    Participation,
    RoundContext,
    Sampler,
    SizedSampler,
    check_cohort,
    check_per_round,
    sampler_registry,
)
from unalike.participation.base import nobody_answers
from unalike.participation.samplers.base import Once, count_draws

IMPORTANCE = np.array([0.1, 0.4, 0.05, 0.25, 0.2])


def test_a_turn_speaks_of_all_clients_unless_it_says_otherwise():
    assert RoundContext(0, IMPORTANCE).clients.tolist() == [0, 1, 2, 3, 4]
    assert RoundContext(0, IMPORTANCE).chosen_from is None


def test_fewer_clients_keep_their_numbers_however_often_they_are_reduced():
    turn = RoundContext(3, IMPORTANCE, seed=9).among(np.array([1, 3, 4]), np.array([2.0, 1.0, 1.0]))
    assert turn.clients.tolist() == [1, 3, 4]
    assert np.allclose(turn.importance, [0.5, 0.25, 0.25])
    twice = turn.among(np.array([0, 2]), turn.importance[[0, 2]])
    assert twice.clients.tolist() == [1, 4]
    assert np.allclose(twice.importance, [2 / 3, 1 / 3])
    assert (twice.number, twice.seed) == (3, 9)


def test_a_turns_randomness_is_a_function_of_seed_round_and_purpose():
    one = RoundContext(2, IMPORTANCE, seed=5)
    one.generator("availability").random(100)
    assert np.array_equal(one.rng.random(4), generator(5, "participation", 2).random(4))
    assert one.rng is one.rng
    others = [
        RoundContext(3, IMPORTANCE, 5).rng,
        RoundContext(2, IMPORTANCE, 6).rng,
        one.generator("availability"),
    ]
    first = RoundContext(2, IMPORTANCE, 5).rng.random(4)
    assert all(not np.array_equal(first, other.random(4)) for other in others)
    fewer = RoundContext(2, IMPORTANCE, 5).among(np.array([0]), np.ones(1))
    assert np.array_equal(fewer.rng.random(4), first)


def test_outside_training_nobody_answers():
    with pytest.raises(ConfigError, match="asks clients for their loss; it works in training only"):
        RoundContext(0, IMPORTANCE).ask("loss", np.arange(2))
    assert RoundContext(0, IMPORTANCE).ask is nobody_answers


def test_a_plain_participation_learns_nothing_and_has_no_state():
    plain = Participation()
    plain.check(3, 4)
    plain.observe(0, Cohort(np.arange(2), np.ones(2)), {})
    plain.restore(plain.state())
    assert plain.state() == {}
    assert not plain.learns
    assert (plain.asks, plain.watches) == ((), ())
    with pytest.raises(NotImplementedError, match="Participation must implement cohort"):
        plain.cohort(RoundContext(0, IMPORTANCE))


def test_a_participation_that_observes_learns():
    class Watchful(Participation):
        def observe(self, round, cohort, reports):
            pass

    assert Watchful().learns


def test_a_sampler_must_say_how_it_draws_and_what_its_moments_are():
    with pytest.raises(NotImplementedError, match="Sampler must implement draw"):
        Sampler().cohort(RoundContext(0, IMPORTANCE))
    with pytest.raises(NotImplementedError, match="Sampler does not know its weights' moments"):
        Sampler().statistics(IMPORTANCE)


def test_a_sampler_of_a_user_is_a_participation():
    class Heaviest(Sampler):
        def draw(self, importance, rng):
            return Cohort(np.array([importance.argmax()]), np.ones(1))

    assert Heaviest().cohort(RoundContext(0, IMPORTANCE)).clients.tolist() == [1]


@pytest.mark.parametrize("per_round", [0, -1, 6])
def test_an_impossible_cohort_is_refused_in_words(per_round):
    with pytest.raises(ConfigError, match=rf"between 1 and the number of clients \(5\), but is {per_round}"):
        check_per_round(per_round, 5)
    with pytest.raises(ConfigError, match="between 1 and"):
        SizedSampler(per_round=per_round).check(5, 1)


def test_a_sound_cohort_passes_also_an_empty_one_and_one_with_a_matrix_of_weights():
    for clients, weights in [([3, 0], np.ones(2)), ([], np.ones(0)), ([1, 2], np.ones((4, 2)))]:
        cohort = Cohort(np.array(clients, np.int64), weights)
        assert check_cohort(cohort, 4) is cohort


@pytest.mark.parametrize(
    ("clients", "weights", "words"),
    [
        ([0, 4], [1, 1], "names client 4 of 4; they are numbered from 0"),
        ([-1, 2], [1, 1], "a cohort names client"),
        ([2, 2], [1, 1], "names a client twice"),
        ([0, 1], [1], "a cohort of 2 clients needs as many finite weights"),
        ([0, 1], [1, np.nan], "finite weights"),
        ([0, 1], [1, np.inf], "finite weights"),
    ],
)
def test_a_cohort_that_makes_no_sense_is_refused(clients, weights, words):
    with pytest.raises(ConfigError, match=words):
        check_cohort(Cohort(np.array(clients), np.array(weights, float)), 4)


def test_repeated_draws_become_counts():
    cohort = count_draws(np.array([4, 1, 4, 4]), 0.25)
    assert cohort.clients.tolist() == [1, 4]
    assert cohort.weights.tolist() == [0.25, 0.75]


def test_a_function_of_an_array_is_computed_once_until_another_array_comes():
    calls = []
    total = Once(lambda array: calls.append(1) or array.sum())
    one, other = np.arange(3), np.arange(3)
    assert [total(one), total(one), total(other), total(other), total(one)] == [3] * 5
    assert len(calls) == 3


def test_every_sampler_has_a_sentence_that_explains_it():
    explained = sampler_registry.explain()
    wanted = {"full", "uniform", "md", "binomial", "poisson", "optimal", "target"}
    assert wanted | {"clustered-size", "clustered-similarity", "uniform-with-replacement"} <= set(explained)
    assert all(text.endswith(".") for text in explained.values())
