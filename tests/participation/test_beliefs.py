"""Counting who is there leads to the truth, as quickly as it should, and can be interrupted."""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation.availability import Diurnal, Markov, availability_registry, simulate
from unalike.participation.beliefs import Beliefs, Estimated, Known, hitting_time


def seen(trace, **options):
    beliefs = Estimated(trace.shape[1], **options)
    for row in trace:
        beliefs.see(row)
    return beliefs


def naive(column, there=1.0, away=1.0, forgetting=1.0):
    """Availability and correlation of one client, from the definition."""
    ages = np.arange(len(column))[::-1]
    weight = forgetting**ages
    active = (weight @ column + there) / (weight.sum() + there + away)
    counts = {(before, now): 0.0 for before in (0, 1) for now in (0, 1)}
    for t in range(1, len(column)):
        counts[int(column[t - 1]), int(column[t])] += weight[t]
    stay_there = (counts[1, 1] + there) / (counts[1, 1] + counts[1, 0] + there + away)
    stay_away = (counts[0, 0] + away) / (counts[0, 0] + counts[0, 1] + there + away)
    return active, stay_there + stay_away - 1


@pytest.mark.parametrize(
    "options", [{}, {"prior": (2.0, 0.5)}, {"forgetting": 0.9}, {"prior": (0.1, 3.0), "forgetting": 0.5}]
)
@pytest.mark.parametrize("rounds", [1, 2, 25])
def test_counts_equal_the_definition(options, rounds):
    trace = np.random.default_rng(1).random((rounds, 12)) < np.linspace(0.05, 0.95, 12)
    beliefs = seen(trace, **options)
    there, away = options.get("prior", (1.0, 1.0))
    expected = [naive(column, there, away, options.get("forgetting", 1.0)) for column in trace.T]
    np.testing.assert_allclose(np.stack([beliefs.active, beliefs.correlation], 1), expected, atol=1e-12)


def test_with_the_uniform_prior_the_published_estimators_come_out():
    beliefs = seen(np.array([[1], [1], [0], [0], [0], [1]], bool))
    assert beliefs.active[0] == pytest.approx((3 + 1) / (6 + 2))
    # there twice before the last round and stayed once; away three times and stayed twice
    assert beliefs.correlation[0] == pytest.approx((1 + 1) / (2 + 2) + (2 + 1) / (3 + 2) - 1)


def test_before_anything_is_seen_the_prior_speaks_and_knows_of_no_correlation():
    beliefs = Estimated(3, prior=(9.0, 1.0))
    np.testing.assert_allclose(beliefs.active, 0.9)
    np.testing.assert_allclose(beliefs.correlation, 0.0, atol=1e-15)
    np.testing.assert_allclose(beliefs.drift, 0.0)


def test_beliefs_stay_inside_the_possible_range():
    always = np.ones((50, 1), bool)
    for trace in (always, ~always, np.arange(50)[:, None] % 2 == 0):
        beliefs = seen(trace)
        assert 0 < beliefs.active[0] < 1
        assert -1 < beliefs.correlation[0] < 1


def test_errors_fall_like_one_over_the_root_of_the_rounds_and_more_slowly_for_correlation():
    lengths, errors = [30, 100, 300, 1000], []
    population = availability_registry.make("groups", clients=400, seed=0)
    trace = simulate(population, max(lengths), seed=1)
    for rounds in lengths:
        beliefs = seen(trace[:rounds])
        errors.append(
            [
                np.abs(beliefs.active - population.active).mean(),
                np.abs(beliefs.correlation - population.correlation).mean(),
            ]
        )
    errors = np.array(errors)
    assert (np.diff(errors, axis=0) < 0).all()
    assert (errors[:, 1] > 1.5 * errors[:, 0]).all()
    slopes = np.polyfit(np.log(lengths), np.log(errors), 1)[0]
    assert ((slopes > -0.75) & (slopes < -0.3)).all()


def test_who_forgets_follows_a_change_and_reports_a_drift():
    rng = np.random.default_rng(0)
    trace = np.concatenate([rng.random((300, 200)) < 0.9, rng.random((100, 200)) < 0.1])
    forgetful, faithful = seen(trace, forgetting=0.95), seen(trace)
    assert np.abs(forgetful.active - 0.1).mean() < 0.1
    assert np.abs(faithful.active - 0.7).mean() < 0.1
    assert (forgetful.drift < -0.3).all()
    np.testing.assert_allclose(faithful.drift, 0.0, atol=1e-12)


def test_drift_swings_with_the_day():
    clock = Diurnal(np.zeros(300, int), period=40, least=0.1, most=0.9)
    beliefs, drifts = Estimated(300, forgetting=0.8), []
    for row in simulate(clock, 160, seed=0):
        beliefs.see(row)
        drifts.append(beliefs.drift.mean())
    assert max(drifts[80:]) > 0.2
    assert min(drifts[80:]) < -0.2


@pytest.mark.parametrize("stop", [0, 1, 5])
def test_beliefs_continue_where_they_were(stop):
    trace = np.random.default_rng(4).random((12, 6)) < 0.4
    whole = seen(trace, forgetting=0.9)
    resumed = Estimated(6, forgetting=0.9)
    resumed.restore(seen(trace[:stop], forgetting=0.9).state())
    for row in trace[stop:]:
        resumed.see(row)
    for name in ("active", "correlation", "drift"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))


def test_what_was_seen_may_be_changed_afterwards():
    row = np.array([True, False])
    beliefs, twin = Estimated(2), Estimated(2)
    beliefs.see(row)
    twin.see(row.copy())
    row[:] = ~row
    for each in (beliefs, twin):
        each.see(np.array([True, True]))
    np.testing.assert_array_equal(beliefs.correlation, twin.correlation)


def test_the_truth_does_not_learn():
    known = Known([0.9, 0.1], [0.0, 0.9])
    known.see(np.array([False, False]))
    np.testing.assert_array_equal(known.active, [0.9, 0.1])
    np.testing.assert_array_equal(known.correlation, [0.0, 0.9])
    assert known.state() == {}


def test_a_hundred_thousand_clients_are_watched_at_once():
    trace = simulate(Markov(0.3, 0.5, clients=100_000), 20, seed=0)
    beliefs = seen(trace)
    assert beliefs.correlation.mean() == pytest.approx(0.5, abs=0.15)  # the prior still pulls towards zero


def test_the_slowest_client_says_how_long_to_observe():
    assert hitting_time([0.9, 0.1, 0.1], [0.0, 0.0, 0.9]) == pytest.approx(100)
    assert hitting_time([0.5, 0.0], 0.0) == np.inf


@pytest.mark.parametrize("prior", [(0.0, 1.0), (1.0, -1.0), (np.nan, 1.0), (1.0, np.inf)])
def test_the_prior_must_be_positive(prior):
    with pytest.raises(ConfigError, match="both numbers of the prior must be positive"):
        Estimated(3, prior=prior)


@pytest.mark.parametrize("forgetting", [0.0, 1.1, -0.5, np.nan])
def test_forgetting_is_a_share(forgetting):
    with pytest.raises(ConfigError, match="forgetting must be above 0 and at most 1, but is"):
        Estimated(3, forgetting=forgetting)


def test_other_numbers_of_clients_are_refused():
    with pytest.raises(ConfigError, match="3 clients are watched, but 2 were seen"):
        Estimated(3).see(np.array([True, False]))
    with pytest.raises(ConfigError, match="about 3 clients, but there are 2"):
        Estimated(2).restore(Estimated(3).state())
    for active, correlation in ((0.5, 0.0), ([0.5, 0.5], [0.1]), ([[0.5]], 0.0)):
        with pytest.raises(ConfigError, match="one number per client"):
            Known(active, correlation)


def test_a_belief_of_one_s_own_must_say_something():
    for name in ("active", "correlation"):
        with pytest.raises(NotImplementedError, match="Beliefs must implement"):
            getattr(Beliefs(), name)
