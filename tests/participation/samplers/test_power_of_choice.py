"""Are the candidates with the highest loss chosen, and is what that does to importances made good in time?"""

import numpy as np
import pytest

from unalike.core.random import generator
from unalike.errors import ConfigError
from unalike.participation import Cohort, PowerOfChoice, RoundContext, check_cohort, sampler_registry
from unalike.participation.samplers import power_of_choice as module
from unalike.participation.samplers.power_of_choice import feasible_window, repair_weights

IMPORTANCE = np.array([0.1, 0.3, 0.05, 0.2, 0.15, 0.2])


class Asked:
    """Clients that answer with a loss of their own, and remember who was asked."""

    def __init__(self, losses):
        self.losses, self.asked = np.asarray(losses, float), []

    def __call__(self, question, clients):
        assert question == "loss"
        self.asked.append(clients.tolist())
        return self.losses[clients]


def turn(number, importance=IMPORTANCE, losses=None, seed=0, ask=None):
    losses = generator(number, "losses").random(100) if losses is None else losses
    return RoundContext(number, importance, seed, ask or Asked(losses))


class InExpectation:
    """Stands for multinomial draws by their mean: everyone, with the weights that draws have on average."""

    def __init__(self, per_round):
        pass

    def draw(self, importance, rng):
        everyone = np.flatnonzero(importance)
        return Cohort(everyone, importance[everyone])


# Rounds by loss.


def test_among_all_clients_those_with_the_highest_loss_are_chosen_and_weigh_alike():
    losses = [3.0, 9.0, 1.0, 7.0, 8.0, 2.0]
    cohort = PowerOfChoice(6, per_round=3).cohort(turn(0, losses=losses))
    assert cohort.clients.tolist() == [1, 3, 4]
    assert np.allclose(cohort.weights, 1 / 3)


@pytest.mark.parametrize(("candidates", "count"), [(None, 4), (2, 2), (5, 5)])
def test_the_best_of_the_candidates_are_chosen_and_only_candidates_are_asked(candidates, count):
    sampler = PowerOfChoice(candidates, per_round=2)
    for number in range(50):
        ask = Asked(generator(number, "losses").random(6))
        cohort = check_cohort(sampler.cohort(turn(number, ask=ask)), 6)
        (asked,) = ask.asked
        assert len(set(asked)) == count
        assert set(cohort.clients.tolist()) == set(sorted(asked, key=lambda k: -ask.losses[k])[:2])


def test_candidates_are_drawn_in_proportion_to_importance():
    """With one candidate the draw alone decides."""
    chosen = [PowerOfChoice(1, per_round=1).cohort(turn(number)).clients[0] for number in range(4000)]
    share = np.bincount(chosen, minlength=6) / 4000
    assert (np.abs(share - IMPORTANCE) < 5 * np.sqrt(IMPORTANCE * (1 - IMPORTANCE) / 4000)).all()


def test_equal_losses_are_decided_by_number_and_one_that_is_not_a_number_comes_last():
    assert PowerOfChoice(6, per_round=2).cohort(turn(0, losses=np.ones(6))).clients.tolist() == [0, 1]
    losses = [np.nan, 1.0, 2.0, np.nan, 0.0, np.nan]
    assert PowerOfChoice(6, per_round=3).cohort(turn(0, losses=losses)).clients.tolist() == [1, 2, 4]


def test_clients_without_importance_are_neither_asked_nor_chosen():
    importance, sampler = np.array([0.5, 0.0, 0.3, 0.0, 0.2]), PowerOfChoice(per_round=2)
    for number in range(30):
        ask = Asked([1.0, 99.0, 2.0, 99.0, 3.0])
        cohort = sampler.cohort(turn(number, importance, ask=ask))
        assert not {1, 3} & {*cohort.clients.tolist(), *ask.asked[0]}


def test_it_is_biased_without_a_window():
    chosen = np.zeros(6)
    for number in range(100):
        cohort = PowerOfChoice(6, per_round=2).cohort(turn(number, losses=np.arange(6.0)))
        chosen[cohort.clients] += cohort.weights
    assert chosen.tolist() == [0, 0, 0, 0, 50, 50]


def test_fewer_clients_keep_their_numbers_when_they_are_asked():
    ask = Asked([9.0, 1.0, 9.0, 2.0, 3.0, 9.0])
    there = turn(0, ask=ask).among(np.array([1, 3, 4]), np.array([0.3, 0.2, 0.15]))
    cohort = PowerOfChoice(3, per_round=2).cohort(there)
    assert ask.asked == [[1, 3, 4]]
    assert cohort.clients.tolist() == [1, 2], "positions among those that are there"


# The window.


def windows(sampler, importance, count, losses=None):
    """The weights of all rounds of some windows, one after the other."""
    rounds, number = [], 0
    while count:
        cohort = check_cohort(sampler.cohort(turn(number, importance, losses)), len(importance))
        weights = np.zeros(len(importance))
        weights[cohort.clients] = cohort.weights
        rounds.append(weights)
        number += 1
        if sampler.state()["place"] == 0:
            yield np.array(rounds)
            rounds, count = [], count - 1


def test_over_a_window_every_client_weighs_its_importance_given_the_picks(monkeypatch):
    monkeypatch.setattr(module, "Multinomial", InExpectation)
    rng = np.random.default_rng(0)
    longer = 0
    for _ in range(25):
        n = int(rng.integers(2, 9))
        importance, m, window = (
            rng.dirichlet(np.full(n, 3.0)),
            int(rng.integers(1, n + 1)),
            int(rng.integers(2, 9)),
        )
        sampler = PowerOfChoice(per_round=m, window=window)
        sampler.check(n, 1000)
        for weights in windows(sampler, importance, 3):
            assert np.allclose(weights.mean(axis=0), importance, atol=1e-8)
            assert np.allclose(weights.sum(axis=1), 1.0)
            assert len(weights) >= window
            longer += len(weights) > window
    assert longer > 0, "no window had to be longer than asked for"


def test_half_of_a_window_is_chosen_by_loss_and_the_rest_asks_nobody():
    """Of two equal clients one is picked in all three rounds; six rounds are just enough to repair that."""
    sampler, questions = PowerOfChoice(2, 6, per_round=1), []
    for number in range(12):
        ask = Asked([1.0, 2.0])
        sampler.cohort(turn(number, np.full(2, 0.5), ask=ask))
        questions.append(len(ask.asked))
    assert questions == 2 * [1, 1, 1, 0, 0, 0]


def test_rounds_that_repair_are_drawn_with_the_repaired_weights_on_average():
    wanted, mean = None, np.zeros(6)
    for seed in range(1500):
        sampler = PowerOfChoice(6, 2, per_round=2)
        losses = np.arange(6.0)
        sampler.cohort(turn(0, losses=losses))
        wanted = repair_weights(IMPORTANCE, np.array([0, 0, 0, 0, 1, 1]), 2, 4, 3)
        cohort = sampler.cohort(turn(1, losses=losses, seed=seed))
        mean[cohort.clients] += cohort.weights / 1500
    assert np.allclose(wanted.sum(), 1.0)
    assert (np.abs(mean - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / 2 / 1500) + 1e-12).all()


def test_a_window_is_as_long_as_the_most_picked_client_needs_and_not_longer():
    rng = np.random.default_rng(1)
    for _ in range(200):
        n, m, window = int(rng.integers(2, 8)), int(rng.integers(1, 4)), int(rng.integers(2, 9))
        importance, picks = rng.dirichlet(np.ones(n)), rng.integers(0, window // 2 + 1, n)
        end = feasible_window(importance, picks, m, window)
        assert (picks <= m * end * importance + 1e-6).all()
        assert end >= window
        assert end == window or (picks > m * (end - 1) * importance).any()


def test_a_client_picked_just_as_often_as_it_may_needs_no_longer_window():
    importance = np.array([0.1, 0.9])
    assert feasible_window(importance, np.array([3, 0]), 3, 10) == 10
    assert feasible_window(np.full(3, 1 / 3), np.array([1, 1, 1]), 1, 3) == 3


def test_repaired_weights_are_those_of_the_formula_and_sum_to_one():
    rng = np.random.default_rng(2)
    for _ in range(100):
        n, m, by_loss = int(rng.integers(2, 8)), 2, int(rng.integers(1, 4))
        importance = rng.dirichlet(np.ones(n))
        picks = np.bincount(
            np.concatenate([rng.choice(n, m, replace=False) for _ in range(by_loss)]), minlength=n
        )
        end = feasible_window(importance, picks, m, 2 * by_loss)
        weights = repair_weights(importance, picks, m, end, end - by_loss)
        assert np.allclose(weights, (end * importance - picks / m) / (end - by_loss), atol=1e-7)
        assert weights.sum() == pytest.approx(1.0)
        assert (weights >= 0).all()


def test_picks_are_remembered_when_other_clients_come_back(monkeypatch):
    """First clients 0 to 2 are there, then all: what client 2 weighed must be made good."""
    monkeypatch.setattr(module, "Multinomial", InExpectation)
    sampler, losses = PowerOfChoice(3, 4, per_round=1), [0.0, 0.0, 9.0, 0.0, 0.0, 0.0]
    equal = np.full(6, 1 / 6)
    for number in range(2):
        first = turn(number, equal, losses).among(np.arange(3), np.ones(3))
        assert sampler.cohort(first).clients.tolist() == [2]
    cohort = sampler.cohort(turn(2, equal, losses))
    assert 2 not in cohort.clients.tolist()


def test_a_window_is_right_where_fewer_clients_matter_than_are_drawn(monkeypatch):
    monkeypatch.setattr(module, "Multinomial", InExpectation)
    importance = np.array([0.7, 0.3, 0.0])
    for weights in windows(PowerOfChoice(per_round=3, window=4), importance, 2):
        assert np.allclose(weights.mean(axis=0), importance, atol=1e-8)


# Settings and state.


@pytest.mark.parametrize("window", [1, 2, 5])
def test_a_sampler_resumes_where_it_was(window):
    whole, stopped, resumed = (PowerOfChoice(4, window, per_round=2) for _ in range(3))

    def go(sampler, first, last):
        return [[a.tolist() for a in sampler.cohort(turn(k))[:2]] for k in range(first, last)]

    expected = go(whole, 0, 20)
    assert go(stopped, 0, 8) == expected[:8]
    resumed.restore(stopped.state())
    assert go(resumed, 8, 20) == expected[8:]


def test_what_was_saved_does_not_change_when_the_sampler_goes_on():
    sampler = PowerOfChoice(6, 6, per_round=2)
    sampler.cohort(turn(0))
    saved = sampler.state()
    before = saved["picks"].copy()
    sampler.cohort(turn(1))
    assert np.array_equal(saved["picks"], before)


def test_a_check_starts_a_new_window():
    sampler = PowerOfChoice(6, 4, per_round=1)
    for number in range(3):
        sampler.cohort(turn(number))
    sampler.check(6, 10)
    ask = Asked(np.ones(6))
    sampler.cohort(turn(0, ask=ask))
    assert ask.asked


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"candidates": 2, "per_round": 3}, "2 candidates are too few to choose 3 clients from"),
        ({"candidates": 0, "per_round": 1}, "0 candidates are too few to choose 1 clients from"),
        ({"window": 0, "per_round": 1}, "the window must be at least 1 round, but is 0"),
    ],
)
def test_impossible_settings_are_refused_in_one_sentence(options, words):
    with pytest.raises(ConfigError, match=words):
        PowerOfChoice(**options)


@pytest.mark.parametrize("per_round", [0, 7])
def test_it_cannot_draw_nobody_or_more_clients_than_there_are(per_round):
    with pytest.raises(ConfigError, match=f"per_round must be between 1 .* but is {per_round}"):
        PowerOfChoice(per_round=per_round).check(6, 10)


def test_it_cannot_have_more_candidates_than_there_are_clients():
    with pytest.raises(ConfigError, match="candidates"):
        PowerOfChoice(9, per_round=2).check(6, 10)


def test_by_default_the_candidates_may_be_more_than_there_are_clients():
    sampler = PowerOfChoice(per_round=4)
    sampler.check(6, 10)
    assert len(sampler.cohort(turn(0)).clients) == 4


def test_a_name_with_numbers_makes_it():
    made = sampler_registry.make("power-of-choice:20,6", per_round=5, sizes=None, seed=0)
    assert (made.candidates, made.window, made.per_round) == (20, 6, 5)
    with pytest.raises(ConfigError, match="where a number belongs"):
        sampler_registry.make("power-of-choice:20,six", per_round=5)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ("many", "candidates must be a whole number, but is 'many'"),
        ("6.5", "candidates must be a whole number, but is 6.5"),
        ("6,2.5", "whole number"),
    ],
)
def test_candidates_and_windows_that_are_not_whole_numbers_are_refused(numbers, words):
    with pytest.raises(ConfigError, match=words):
        sampler_registry.make(f"power-of-choice:{numbers}", per_round=2)


def test_outside_training_there_is_nobody_to_ask():
    with pytest.raises(ConfigError, match="it works in training only"):
        PowerOfChoice(per_round=1).cohort(RoundContext(0, IMPORTANCE))
    with pytest.raises(NotImplementedError, match="PowerOfChoice does not know its weights' moments"):
        PowerOfChoice(per_round=1).statistics(IMPORTANCE)
