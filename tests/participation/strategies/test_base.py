"""Do strategies weigh as their formulas say, whoever is there, and is the unbiased one right on average?"""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation import (
    AdaFed,
    AvailabilityContext,
    AvailableOnly,
    F3ast,
    Known,
    Markov,
    MoreAvailable,
    RoundContext,
    Strategy,
    Unbiased,
    strategy_registry,
)
from unalike.participation.availability import simulate

IMPORTANCE = np.array([0.1, 0.4, 0.05, 0.25, 0.2])
ACTIVE = np.array([0.9, 0.5, 0.1, 0.6, 0.2])
HERE = np.array([True, False, True, True, False])
EVERYONE, NOBODY = np.ones(5, bool), np.zeros(5, bool)
EASY = ("fedavg", "unbiased", "more-available", "adafed", "f3ast")
"""The strategies that ask nobody."""


def situation(here=HERE, active=ACTIVE, importance=IMPORTANCE, number=0):
    return AvailabilityContext(RoundContext(number, importance), here, Known(active, 0.0))


def random_situation(rng, clients=6):
    here = rng.random(clients) < 0.6
    return situation(here, rng.uniform(0.05, 1, clients), rng.dirichlet(np.ones(clients)))


def made(name, **options):
    return strategy_registry.make(name, minima=None, per_round=None, rounds=20, **options)


# Closed forms.


def test_fair_weights_are_importance_over_availability():
    assert np.allclose(situation().fair_weights, [0.1 / 0.9, 0.8, 0.5, 0.25 / 0.6, 1.0], rtol=1e-14)


def test_who_is_there_weighs_by_importance_and_those_weights_sum_to_one():
    weights = AvailableOnly().weights(situation())
    assert np.allclose(weights[HERE], np.array([0.1, 0.05, 0.25]) / 0.4)
    assert weights[HERE].sum() == pytest.approx(1.0)


def test_unbiased_weights_do_not_depend_on_who_is_there():
    for here in (HERE, EVERYONE, NOBODY):
        assert np.array_equal(Unbiased().weights(situation(here)), IMPORTANCE / ACTIVE)


def test_the_largest_weight_cuts_off_only_what_is_above_it():
    weights, cut = Unbiased().weights(situation()), Unbiased(0.5).weights(situation())
    assert np.array_equal(cut, np.where(weights > 0.5, 0.5, weights))
    assert (cut < weights).any()
    assert (cut == weights).any()


def test_more_available_leaves_out_whoever_is_there_half_of_the_time_or_less():
    weights = MoreAvailable().weights(situation())
    assert np.array_equal(weights > 0, [True, False, False, True, False])
    assert np.array_equal(weights[[0, 3]], (IMPORTANCE / ACTIVE)[[0, 3]])
    assert (MoreAvailable(0.15).weights(situation()) > 0).sum() == 4


def test_adafed_is_unbiased_up_to_a_factor_that_makes_the_weights_of_those_there_sum_to_one():
    rng = np.random.default_rng(0)
    situations = [now for now in (random_situation(rng) for _ in range(50)) if now.here.any()]
    assert len(situations) > 25
    for now in situations:
        weights, fair = AdaFed().weights(now), now.fair_weights
        assert weights[now.here].sum() == pytest.approx(1.0)
        assert np.allclose(weights / weights[0], fair / fair[0])


def test_when_everyone_is_always_there_all_weigh_by_importance():
    """And so does F3AST, where it may take all of them."""
    now = situation(EVERYONE, np.ones(5))
    for strategy in (*(made(name) for name in EASY[:4]), F3ast(per_round=5)):
        assert np.allclose(strategy.weights(now), IMPORTANCE), strategy


# Unbiasedness.


def test_the_mean_of_unbiased_weights_over_a_long_trace_is_the_importance():
    """The variance of a mean of T rounds of a chain is p^2 (1 - pi) / pi (1 + lambda) / (1 - lambda) / T."""
    active, correlation = np.array([0.9, 0.5, 0.3, 0.6, 0.4]), np.array([0.0, 0.8, -0.2, 0.3, 0.6])
    rounds, strategy = 20_000, Unbiased()
    counted = np.zeros(5)
    for t, here in enumerate(simulate(Markov(active, correlation), rounds, seed=3)):
        counted += strategy.weights(situation(here, active, number=t)) * here
    deviation = IMPORTANCE * np.sqrt((1 - active) / active * (1 + correlation) / (1 - correlation) / rounds)
    assert (np.abs(counted / rounds - IMPORTANCE) < 5 * deviation).all()


@pytest.mark.parametrize("name", ["fedavg", "adafed", "more-available"])
def test_the_other_strategies_favor_clients_that_are_there_often(name):
    """Not a matter of luck: over all sets of clients, weighted by their probability."""
    active, importance = np.array([0.9, 0.2]), np.array([0.5, 0.5])
    expected = np.zeros(2)
    for here in ([True, True], [True, False], [False, True]):
        here = np.array(here)
        chance = np.where(here, active, 1 - active).prod()
        expected += chance * here * made(name).weights(situation(here, active, importance))
    assert expected[0] > expected[1]


# F3AST.


def naive_f3ast(importance, active, trace, most, rounds):
    """One round after the other, one client after the other."""
    rates = list(active)
    for here in trace:
        order = sorted(
            (k for k in range(len(here)) if here[k]), key=lambda k: -((importance[k] / rates[k]) ** 2)
        )
        yield {k: importance[k] / rates[k] for k in order[:most]}, set(order[most:])
        rates = [(1 - 1 / rounds) * r + (1 / rounds) * float(h) for r, h in zip(rates, here, strict=True)]


def test_f3ast_takes_the_clients_whose_rate_lags_most_as_a_naive_loop_does():
    rng = np.random.default_rng(2)
    for _ in range(10):
        n = int(rng.integers(1, 9))
        importance, active = rng.dirichlet(np.ones(n)), rng.uniform(0.1, 0.9, n)
        trace, most = rng.random((30, n)) < active, int(rng.integers(1, n + 1))
        strategy = F3ast(per_round=most, rounds=12)
        strategy.check(n, 30)
        for t, (taken, left) in enumerate(naive_f3ast(importance, active, trace, most, 12)):
            weights = strategy.weights(situation(trace[t], active, importance, t))
            used = np.flatnonzero(trace[t] & (weights > 0))
            assert used.tolist() == sorted(taken)
            assert np.allclose(weights[used], [taken[k] for k in used])
            assert set(np.flatnonzero(weights == 0).tolist()) == left


def test_rates_of_selection_make_everyone_count_as_it_should_and_rates_of_availability_favor_the_rare():
    """In the long run a client that is taken in a share r of all rounds and weighs alpha / r counts alpha."""
    rng, rounds = np.random.default_rng(0), 6000
    active, importance = np.repeat([0.9, 0.3], 5), np.full(10, 0.1)
    trace, counts = rng.random((rounds, 10)) < active, {}
    for rates in ("availability", "selection"):
        strategy, total = F3ast(rates, per_round=4, rounds=200), np.zeros(10)
        strategy.check(10, rounds)
        for t, here in enumerate(trace):
            weights = strategy.weights(situation(here, active, importance, t))
            total += np.where(here, weights, 0.0) * (t >= rounds // 4)
        counts[rates] = total / (rounds - rounds // 4)
    assert np.abs(counts["selection"] / importance - 1).max() < 0.05
    assert counts["availability"][5:].mean() > 1.5 * counts["availability"][:5].mean()


def test_a_rule_for_rates_that_nobody_knows_is_explained():
    with pytest.raises(ConfigError, match="rule for rates 'selecton'; did you mean 'selection'"):
        made("f3ast:selecton")


def test_f3ast_takes_45_percent_where_nothing_is_said_and_somebody_in_any_case():
    for clients, expected in ((1, 1), (2, 1), (10, 4), (100, 45)):
        strategy, here = F3ast(), np.ones(clients, bool)
        strategy.check(clients, 10)
        weights = strategy.weights(situation(here, np.full(clients, 0.5), np.full(clients, 1 / clients)))
        assert (weights > 0).sum() == expected


def test_among_equals_f3ast_takes_the_first():
    weights = F3ast(per_round=2).weights(situation(EVERYONE, np.full(5, 0.5), np.full(5, 0.2)))
    assert np.flatnonzero(weights).tolist() == [0, 1]


def test_the_rates_of_f3ast_do_not_depend_on_who_was_taken():
    """They are rates of being there: a larger cohort does not change them."""
    rng, few, many = np.random.default_rng(4), F3ast(per_round=1), F3ast(per_round=5)
    for _ in range(20):
        here = rng.random(5) < 0.5
        few.weights(situation(here))
        many.weights(situation(here))
        assert np.array_equal(few.state()["rates"], many.state()["rates"])


def test_f3ast_resumes_where_it_was_and_an_earlier_copy_of_its_state_does_not_change():
    rng = np.random.default_rng(5)
    trace, whole, first = rng.random((20, 5)) < 0.5, F3ast(per_round=2), F3ast(per_round=2)
    expected = [whole.weights(situation(here)) for here in trace]
    for here in trace[:9]:
        first.weights(situation(here))
    saved = first.state()
    kept = {key: value.copy() for key, value in saved.items()}
    first.weights(situation(trace[9]))
    assert all(np.array_equal(saved[key], kept[key]) for key in kept)
    second = F3ast(per_round=2)
    second.restore(saved)
    assert all(
        np.array_equal(second.weights(situation(here)), wanted)
        for here, wanted in zip(trace[9:], expected[9:], strict=True)
    )


def test_f3ast_that_has_not_started_can_be_saved_and_a_new_check_starts_it_again():
    fresh, used = F3ast(per_round=2), F3ast(per_round=2)
    used.weights(situation())
    fresh.restore(F3ast(per_round=2).state())
    used.check(5, 10)
    assert np.array_equal(fresh.weights(situation()), used.weights(situation()))


def test_f3ast_cannot_take_more_clients_than_there_are():
    with pytest.raises(ConfigError, match=r"between 1 and the number of clients \(5\), but is 6"):
        F3ast(per_round=6).check(5, 10)
    with pytest.raises(ConfigError, match="but is 0"):
        F3ast(per_round=0).check(5, 10)


# Edge cases.


@pytest.mark.parametrize("name", EASY)
def test_nobody_there_is_no_reason_to_fail(name):
    with np.errstate(all="raise"):
        weights = made(name).weights(situation(NOBODY))
    assert weights.shape == (5,)
    assert (weights >= 0).all()


@pytest.mark.parametrize("name", EASY)
def test_clients_that_are_always_or_never_there_leave_the_others_finite(name):
    active = np.array([1.0, 0.0, 0.5, 1.0, 0.0])
    here = np.array([True, False, True, True, False])
    weights = made(name).weights(situation(here, active))
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()
    if name == "unbiased":
        assert np.allclose(weights[here], [0.1, 0.1, 0.25])


def test_nobody_there_and_a_client_that_never_is_overflow_nothing():
    with np.errstate(all="raise"):
        assert np.isfinite(AdaFed().weights(situation(NOBODY, np.array([0.0, 1, 1, 1, 1])))).all()


@pytest.mark.parametrize("name", EASY)
def test_a_client_without_importance_weighs_nothing(name):
    importance = np.array([0.5, 0.0, 0.25, 0.25, 0.0])
    assert (made(name).weights(situation(EVERYONE, importance=importance))[[1, 4]] == 0).all()


@pytest.mark.parametrize("name", EASY)
def test_a_single_client_that_is_there_is_used(name):
    weights = made(name).weights(situation(np.ones(1, bool), np.array([0.8]), np.ones(1)))
    normalized = name in ("fedavg", "adafed")
    assert weights == pytest.approx([1.0 if normalized else 1 / 0.8])


@pytest.mark.parametrize("name", EASY)
def test_weights_do_not_touch_what_they_are_told(name):
    now = situation()
    importance, active, here = now.turn.importance.copy(), now.beliefs.active.copy(), now.here.copy()
    strategy = made(name)
    for _ in range(3):
        strategy.weights(now)[:] = 7.0
    assert np.array_equal(now.turn.importance, importance)
    assert np.array_equal(now.beliefs.active, active)
    assert np.array_equal(now.here, here)


@pytest.mark.parametrize("name", [name for name in EASY if name != "f3ast"])
def test_the_order_of_clients_does_not_matter(name):
    rng = np.random.default_rng(6)
    for _ in range(20):
        now, order = random_situation(rng), rng.permutation(6)
        turned = situation(now.here[order], now.beliefs.active[order], now.turn.importance[order])
        assert np.allclose(made(name).weights(turned), made(name).weights(now)[order])


def test_a_strategy_must_say_how_clients_weigh_and_a_plain_one_has_no_state():
    plain = Strategy()
    plain.check(3, 4)
    plain.restore(plain.state())
    assert (plain.asks, plain.state()) == ((), {})
    with pytest.raises(NotImplementedError, match="Strategy must implement weights"):
        plain.weights(situation())


@pytest.mark.parametrize("spec", ["unbiased:-1", "unbiased:0", "unbiased:nan"])
def test_a_largest_weight_that_leaves_out_everyone_is_refused(spec):
    with pytest.raises(ConfigError, match="largest_weight"):
        made(spec)


@pytest.mark.parametrize("spec", ["more-available:1", "more-available:-0.1", "more-available:nan"])
def test_an_availability_that_nobody_can_exceed_is_refused(spec):
    with pytest.raises(ConfigError, match="least"):
        made(spec)


@pytest.mark.parametrize(
    "spec", ["fedavg:1", "adafed:2", "f3ast:selection,4", "unbiased:1,2", "unbiased:much"]
)
def test_arguments_that_a_strategy_does_not_have_are_refused_in_one_sentence(spec):
    with pytest.raises(ConfigError) as refusal:
        made(spec)
    assert "\n" not in str(refusal.value)
    assert spec in str(refusal.value)
