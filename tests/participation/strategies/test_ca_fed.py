"""Does CA-Fed leave out whom its pseudo-code leaves out, and nobody else, whatever it is told?"""

import warnings

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation import AvailabilityContext, CAFed, Estimated, Known, RoundContext, Unbiased
from unalike.participation.strategies.ca_fed import Units, estimated_error, prune, subset_error

STRICT = 1e-12
"""A decrease must be larger than this; ties are no decrease."""


def naive_prune(weights, order, active, importance, gaps, bias_weight, threshold):
    """The printed loop: always from the current weights, with the error as it is defined."""
    weights = weights.copy()
    error = estimated_error(weights, active, importance, gaps, bias_weight)
    for k in order:
        if weights[k] <= 0:
            continue
        without = weights.copy()
        without[k] = 0.0
        if (without == 0).all():
            break
        smaller = estimated_error(without, active, importance, gaps, bias_weight)
        if error - smaller > max(threshold, STRICT):
            weights, error = without, smaller
    return weights


def naive_weights(importance, active, correlation, gaps, bias_weight, threshold=0.0):
    """Both passes: the most correlated first, then the least available; ties by number."""
    clients = range(len(importance))
    weights = importance / active
    for order in (
        sorted(clients, key=lambda k: -abs(correlation[k])),
        sorted(clients, key=lambda k: active[k]),
    ):
        weights = naive_prune(weights, order, active, importance, gaps, bias_weight, threshold)
    return weights


def instance(rng, most=12):
    """Importances, availabilities, correlations (some negative, some equal) and losses."""
    n = int(rng.integers(1, most))
    correlation = rng.choice([-0.3, 0.0, 0.3, 0.9], n) if rng.random() < 0.5 else rng.uniform(-0.5, 0.95, n)
    return rng.dirichlet(np.ones(n)), rng.uniform(0.05, 1, n), correlation, rng.exponential(size=n)


def told(losses):
    """Clients that answer with these losses."""
    return lambda question, clients: np.asarray(losses, float)[clients]


def situation(losses, importance=None, active=0.5, correlation=0.0, here=None, number=0):
    n = len(losses)
    importance = np.full(n, 1 / n) if importance is None else importance
    here = np.ones(n, bool) if here is None else np.asarray(here, bool)
    beliefs = Known(np.broadcast_to(np.asarray(active, float), n), correlation)
    return AvailabilityContext(RoundContext(number, importance, 5, told(losses)), here, beliefs)


# The error, and leaving out.


def test_the_closed_form_of_the_error_is_the_error_as_it_is_defined():
    rng = np.random.default_rng(0)
    for _ in range(200):
        importance, active, _, gaps = instance(rng)
        kept = rng.random(len(gaps)) < 0.6
        kept[rng.integers(len(gaps))] = True
        direct = estimated_error(np.where(kept, importance / active, 0), active, importance, gaps, 0.7)
        closed = subset_error(importance[kept].sum(), (importance * gaps)[kept].sum(), 0.7, gaps.max())
        assert closed == pytest.approx(direct, rel=1e-12)


def test_the_error_of_a_case_that_is_computed_by_hand():
    """Weights on the first of two equal clients: p = (1, 0), half of the importance is misplaced."""
    error = estimated_error(
        np.array([1.0, 0.0]), np.array([0.5, 0.5]), np.full(2, 0.5), np.array([1.0, 3.0]), 2
    )
    assert error == pytest.approx(1 + 4 * 2 * 0.5**2 * 3)


@pytest.mark.parametrize("bias_weight", [0.0, 0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("threshold", [0.0, 0.02])
def test_leaving_out_equals_the_pseudo_code(bias_weight, threshold):
    rng = np.random.default_rng(1)
    left = 0
    for _ in range(60):
        importance, active, correlation, losses = instance(rng)
        strategy = CAFed(bias_weight, threshold=threshold)
        weights = strategy.weights(situation(losses, importance, active, correlation))
        wanted = naive_weights(importance, active, correlation, losses, bias_weight, threshold)
        assert np.allclose(weights, wanted, rtol=1e-12)
        left += int((weights == 0).sum())
    assert left > 0 or bias_weight == 10.0


def test_one_pass_equals_the_pseudo_code_from_any_set_of_clients():
    rng = np.random.default_rng(2)
    for _ in range(100):
        importance, active, _, gaps = instance(rng)
        n, kept = len(gaps), rng.random(len(gaps)) < 0.7
        kept[rng.integers(n)] = True
        order, before = rng.permutation(n), kept.copy()
        answer = prune(kept, order, Units(importance, importance * gaps), gaps.max(), 0.1)
        start = np.where(kept, importance / active, 0.0)
        assert np.array_equal(answer, naive_prune(start, order, active, importance, gaps, 0.1, 0.0) > 0)
        assert np.array_equal(kept, before)


def test_a_client_is_left_out_only_if_its_gap_exceeds_the_mean_of_those_kept():
    """The test in closed form: a (g - mean) / (m - a) > 4 kappa^2 largest a (2 (1 - m) + a)."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        importance, _, _, gaps = instance(rng)
        n, kept, k = len(gaps), np.ones(len(gaps), bool), int(rng.integers(len(gaps)))
        if n == 1:
            continue
        mass, mean, a = 1.0, importance @ gaps, importance[k]
        gain = a * (gaps[k] - mean) / (mass - a) - 4 * 0.05 * gaps.max() * a * (2 * (1 - mass) + a)
        answer = prune(kept, np.array([k]), Units(importance, importance * gaps), gaps.max(), 0.05)
        assert answer[k] == (gain <= 1e-12)
        assert answer.sum() >= n - 1


def test_the_set_is_never_empty():
    rng = np.random.default_rng(4)
    for _ in range(200):
        importance, active, correlation, losses = instance(rng)
        weights = CAFed(0.0).weights(situation(losses, importance, active, correlation))
        assert (weights > 0).any()


@pytest.mark.parametrize("bias_weight", [0.0, 1.0])
@pytest.mark.parametrize("losses", [[0.0, 0, 0, 0], [0.7, 0.7, 0.7, 0.7], [1e-9] * 4, [1000.0] * 4])
def test_equal_losses_are_no_reason_to_leave_anyone_out(losses, bias_weight):
    strategy = CAFed(bias_weight)
    importance = np.array([0.1, 0.2, 0.3, 0.4])
    for number in range(3):
        assert (strategy.weights(situation(losses, importance, correlation=0.9, number=number)) > 0).all()


def test_equal_losses_of_any_size_are_no_reason_to_leave_anyone_out():
    rng = np.random.default_rng(0)
    for _ in range(20):
        importance = rng.dirichlet(np.ones(30))
        assert (CAFed(0.0).weights(situation(np.full(30, 1e6 / 3), importance)) > 0).all()


def test_a_single_client_is_never_left_out():
    for bias_weight in (0.0, 1.0):
        weights = CAFed(bias_weight).weights(situation([5.0], active=0.2, correlation=0.9))
        assert weights == pytest.approx([5.0])


# The bias weight.


def test_a_large_bias_weight_is_the_unbiased_strategy_in_every_round():
    rng, strategy, unbiased = np.random.default_rng(5), CAFed(1e6), Unbiased()
    importance, active = rng.dirichlet(np.full(20, 5.0)), rng.uniform(0.1, 1, 20)
    for number in range(30):
        now = situation(
            rng.exponential(size=20), importance, active, 0.9, here=rng.random(20) < active, number=number
        )
        assert np.array_equal(strategy.weights(now), unbiased.weights(now))


def test_without_a_bias_weight_only_the_clients_with_the_smallest_gaps_stay():
    """Then the error is a mean of gaps, and whoever is above the mean goes while the mean falls."""
    losses = np.array([5.0, 1.0, 4.0, 2.0, 3.0])
    weights = CAFed(0.0).weights(situation(losses, correlation=np.array([0.9, 0.1, 0.8, 0.2, 0.5])))
    assert np.flatnonzero(weights).tolist() == [1]


def excluded(importance, gaps, bias_weight, orders):
    kept = np.ones(len(gaps), bool)
    for order in orders:
        kept = prune(kept, order, Units(importance, importance * gaps), gaps.max(), bias_weight)
    return set(np.flatnonzero(~kept).tolist())


GRID = (0.01, 0.1, 1.0, 10.0, 100.0)


def test_fewer_clients_are_left_out_as_the_bias_weight_grows_on_average_and_among_equals_each_time():
    rng, unequal = np.random.default_rng(6), []
    for _ in range(200):
        importance, _, _, gaps = instance(rng)
        n = len(gaps)
        orders = [rng.permutation(n), rng.permutation(n)]
        equal = [len(excluded(np.full(n, 1 / n), gaps, weight, orders)) for weight in GRID]
        assert equal == sorted(equal, reverse=True)
        unequal.append([len(excluded(importance, gaps, weight, orders)) for weight in GRID])
    means = np.mean(unequal, axis=0)
    assert (np.diff(means) < 0).all()


def test_among_unequal_clients_a_larger_bias_weight_may_leave_out_more_of_them():
    """One after the other is not monotone: first the large client goes alone, then two small ones instead."""
    importance, gaps = np.array([17, 2, 29, 5]) / 53, np.array([3.0, 3.0, 2.0, 3.0])
    orders = [np.arange(4), np.array([3, 0, 2, 1])]
    assert excluded(importance, gaps, 0.178, orders) == {0}
    assert excluded(importance, gaps, 0.238, orders) == {1, 3}


def test_correlation_decides_only_who_is_considered_first():
    """Of two clients alike but for their correlation, the more correlated one goes."""
    losses, importance = np.array([0.1, 3.0, 3.0, 0.1]), np.full(4, 0.25)
    for correlation, gone in (([0, 0.9, 0.1, 0], 1), ([0, 0.1, 0.9, 0], 2), ([0, 0.1, -0.9, 0], 2)):
        weights = CAFed(0.5).weights(situation(losses, importance, correlation=np.array(correlation, float)))
        assert np.flatnonzero(weights == 0).tolist() == [gone]


def test_ties_are_broken_by_number():
    losses = np.array([0.1, 3.0, 3.0, 0.1])
    assert np.flatnonzero(CAFed(0.5).weights(situation(losses)) == 0).tolist() == [1]


def test_a_client_that_was_passed_over_at_first_may_go_in_the_second_pass():
    """The naive loop visits everyone twice; so does this one, in different orders."""
    rng, second = np.random.default_rng(7), 0
    for _ in range(200):
        importance, active, correlation, losses = instance(rng)
        n, gaps = len(losses), losses
        units, start = Units(importance, importance * gaps), np.ones(len(losses), bool)
        first = prune(start, np.argsort(-np.abs(correlation), kind="stable"), units, gaps.max(), 0.1)
        both = CAFed(0.1).weights(situation(losses, importance, active, correlation)) > 0
        assert not (both & ~first).any()
        second += int((first & ~both).any()) if n > 1 else 0
    assert second > 0


# Groups.


def test_clusters_are_kept_or_left_out_as_a_whole():
    rng, partly = np.random.default_rng(8), 0
    for _ in range(50):
        importance, active, correlation, losses = instance(rng, most=16)
        groups = rng.integers(0, 4, len(losses)) * 10  # numbers need not follow each other
        kept = CAFed(0.1, groups=groups).weights(situation(losses, importance, active, correlation)) > 0
        for group in np.unique(groups):
            assert len(set(kept[groups == group].tolist())) == 1
        alone = CAFed(0.1).weights(situation(losses, importance, active, correlation)) > 0
        partly += any(len(set(alone[groups == g].tolist())) == 2 for g in np.unique(groups))
    assert partly > 0


def test_a_cluster_is_one_client_with_the_sum_of_importances_and_the_mean_of_gaps():
    """Clusters whose clients are alike: leaving them out equals leaving out clients that stand for them."""
    rng = np.random.default_rng(9)
    for _ in range(50):
        importance, active, correlation, losses = instance(rng, most=6)
        n = len(losses)
        copies = rng.integers(1, 4, n)
        group = np.repeat(np.arange(n), copies)
        shared = (importance / copies)[group]
        whole = CAFed(0.1, groups=group).weights(
            situation(losses[group], shared, active[group], correlation[group])
        )
        alone = naive_weights(importance, active, correlation, losses, 0.1)
        assert np.array_equal(whole > 0, (alone > 0)[group])


def test_groups_of_one_change_nothing():
    rng = np.random.default_rng(10)
    for _ in range(30):
        importance, active, correlation, losses = instance(rng)
        now = situation(losses, importance, active, correlation)
        alone = CAFed(0.1, groups=np.arange(len(losses))).weights(now)
        assert np.array_equal(alone, CAFed(0.1).weights(now))


# What it believes of losses.


def test_running_minima_leave_nobody_out_in_the_first_round():
    """All gaps are zero then, and a decrease of zero is none."""
    rng = np.random.default_rng(11)
    strategy = CAFed(0.0, "running")
    weights = strategy.weights(situation(rng.exponential(size=10), correlation=rng.uniform(0, 0.9, 10)))
    assert (weights > 0).all()
    assert (strategy.gaps() == 0).all()


def test_losses_and_minima_are_those_of_a_naive_loop():
    rng = np.random.default_rng(12)
    for minimum in ("running", "zero"):
        strategy, losses, least = CAFed(1.0, minimum, new_loss=0.3), None, None
        for number in range(25):
            here, now = rng.random(4) < 0.5, rng.exponential(size=4)
            strategy.weights(situation(now, here=here, number=number))
            if losses is None:
                if not here.any():
                    continue
                mean = np.mean([now[k] for k in range(4) if here[k]])
                losses = [now[k] if here[k] else mean for k in range(4)]
                least = list(losses)
            else:
                losses = [
                    0.7 * f + 0.3 * new if h else f for f, new, h in zip(losses, now, here, strict=True)
                ]
                least = [min(pair) for pair in zip(least, losses, strict=True)]
            floor = least if minimum == "running" else np.zeros(4)
            assert np.allclose(strategy.gaps(), np.maximum(np.subtract(losses, floor), 0))


def test_a_client_never_seen_has_the_mean_loss_of_the_first_round_and_a_weight():
    strategy = CAFed(1e6)
    here = [True, True, False, False]
    weights = strategy.weights(situation([1.0, 3.0, 99.0, 99.0], here=here))
    assert strategy.gaps().tolist() == [1.0, 3.0, 2.0, 2.0]
    assert (weights > 0).all()


def test_before_anybody_was_there_everyone_weighs_as_unbiased_and_nobody_is_asked():
    def nobody(question, clients):
        raise AssertionError("nobody is there to be asked")

    now = situation([1.0, 2.0], here=[False, False], active=[0.25, 0.5])
    now = AvailabilityContext(RoundContext(0, now.turn.importance, ask=nobody), now.here, now.beliefs)
    assert CAFed().weights(now).tolist() == [2.0, 1.0]


def test_only_the_clients_that_are_there_are_asked_and_by_their_number():
    asked = []

    def ask(question, clients):
        asked.append((question, clients.tolist()))
        return np.ones(len(clients))

    turn = RoundContext(0, np.full(5, 0.2), ask=ask)
    CAFed().weights(AvailabilityContext(turn, np.array([0, 1, 0, 1, 1], bool), Estimated(5)))
    assert asked == [("loss", [1, 3, 4])]


def test_known_minima_take_the_place_of_the_others():
    losses, minima = np.array([2.0, 3.0, 1.0]), np.array([1.5, 0.5, 4.0])
    strategy = CAFed(minima=minima)
    strategy.weights(situation(losses))
    assert strategy.gaps().tolist() == [0.5, 2.5, 0.0], "a loss below the minimum is no gap"


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
def test_a_loss_that_is_not_a_number_counts_as_the_worst_one_told(broken):
    strategy = CAFed()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights = strategy.weights(situation([1.0, broken, 3.0]))
    assert strategy.gaps().tolist() == [1.0, 3.0, 3.0]
    assert np.isfinite(weights).all()


def test_if_no_loss_is_a_number_everyone_stays():
    for number, strategy in enumerate((CAFed(), CAFed(1.0, "running"), CAFed(0.0))):
        weights = strategy.weights(situation([np.nan] * 3, number=number))
        assert (weights > 0).all()


def test_noise_on_losses_is_random_by_round_and_seed_only():
    losses, quiet, strategies = np.full(2000, 10.0), CAFed(), [CAFed(loss_noise=0.5) for _ in range(2)]
    for strategy in (quiet, *strategies):
        strategy.weights(situation(losses))
    first, again = (strategy.gaps() - quiet.gaps() for strategy in strategies)
    assert np.array_equal(first, again)
    assert abs(first.mean()) < 5 * 0.5 / np.sqrt(2000)
    assert first.std() == pytest.approx(0.5, rel=5 / np.sqrt(2 * 2000))
    strategies[0].weights(situation(losses, number=1))
    assert not np.array_equal(strategies[0].gaps() - quiet.gaps(), first)


def test_noise_never_makes_a_gap_negative():
    strategy = CAFed(loss_noise=5.0)
    weights = strategy.weights(situation(np.full(50, 0.1)))
    assert (strategy.gaps() >= 0).all()
    assert (strategy.gaps() == 0).any()
    assert (weights > 0).any()


# Edge cases and state.


def test_the_largest_weight_cuts_off():
    weights = CAFed(1e6, largest_weight=0.9).weights(situation([1.0, 1.0], active=[0.1, 0.9]))
    assert weights == pytest.approx([0.9, 0.5 / 0.9])


def test_a_client_without_importance_is_never_used_and_does_not_decide():
    importance = np.array([0.5, 0.5, 0.0])
    weights = CAFed(0.1).weights(situation([1.0, 1.2, 50.0], importance))
    assert weights[2] == 0
    assert (weights[:2] > 0).all()


def test_the_same_weights_whether_importances_sum_to_one_or_nearly():
    rng = np.random.default_rng(13)
    importance, active, correlation, losses = instance(rng)
    one, nearly = (
        CAFed(0.1).weights(situation(losses, scale * importance, active, correlation))
        for scale in (1.0, 1 + 5e-7)
    )
    assert np.allclose(nearly, one, rtol=1e-6)


def test_a_strategy_resumes_where_it_was():
    rng = np.random.default_rng(14)
    rounds = [(rng.exponential(size=6), rng.random(6) < 0.6) for _ in range(20)]
    options = {"bias_weight": 0.1, "minimum": "running", "new_loss": 0.5, "loss_noise": 0.1}

    def go(strategy, first, last):
        return [
            strategy.weights(situation(losses, here=here, correlation=0.5, number=first + k))
            for k, (losses, here) in enumerate(rounds[first:last])
        ]

    whole, stopped, resumed = (CAFed(**options) for _ in range(3))
    expected = go(whole, 0, 20)
    assert np.array_equal(go(stopped, 0, 8), expected[:8])
    resumed.restore(stopped.state())
    assert np.array_equal(go(resumed, 8, 20), expected[8:])


def test_a_strategy_that_heard_nothing_yet_can_be_saved():
    strategy = CAFed()
    strategy.restore(CAFed().state())
    assert (strategy.weights(situation([1.0, 2.0])) > 0).all()


def test_what_was_saved_does_not_change_when_the_strategy_goes_on():
    strategy = CAFed()
    strategy.weights(situation([1.0, 2.0]))
    saved = strategy.state()
    before = saved["losses"].copy()
    strategy.weights(situation([3.0, 4.0], number=1))
    assert np.array_equal(saved["losses"], before)


def test_a_check_forgets_what_an_earlier_run_has_told():
    strategy = CAFed(1.0, "running")
    for number in range(3):
        strategy.weights(situation([3.0 - number, 2.0], number=number))
    strategy.check(2, 5)
    strategy.weights(situation([1.0, 2.0]))
    assert strategy.gaps().tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bias_weight": -1.0}, "bias_weight must not be negative, but is -1.0"),
        ({"bias_weight": np.nan}, "bias_weight must not be negative, but is nan"),
        ({"threshold": -0.1}, "threshold must not be negative"),
        ({"loss_noise": -0.1}, "loss_noise must not be negative"),
        ({"new_loss": 0.0}, "new_loss must be above 0 and at most 1, but is 0.0"),
        ({"new_loss": 1.5}, "new_loss must be above 0 and at most 1, but is 1.5"),
        ({"minimum": "runing"}, "unknown minimum 'runing'; did you mean 'running'"),
    ],
)
def test_impossible_settings_are_refused_in_one_sentence(options, words):
    with pytest.raises(ConfigError, match=words):
        CAFed(**options)


@pytest.mark.parametrize("largest", [-1.0, 0.0, np.nan])
def test_a_largest_weight_that_leaves_nobody_is_refused(largest):
    with pytest.raises(ConfigError, match="largest_weight"):
        CAFed(largest_weight=largest)


@pytest.mark.parametrize("name", ["minima", "groups"])
def test_minima_and_groups_must_speak_of_every_client(name):
    with pytest.raises(ConfigError, match=f"{name} speaks of 3 clients, but there are 4"):
        CAFed(**{name: np.zeros(3, int)}).check(4, 1)
