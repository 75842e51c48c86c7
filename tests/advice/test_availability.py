"""Are the bounds of strategies those of their weights, with what was measured on these clients?"""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from unalike import ConfigError
from unalike.advice import ProbeSettings
from unalike.advice.availability import Population, advise_availability, best_rates, strategy_weights
from unalike.advice.measure_availability import measure_losses
from unalike.models import Task, mlp
from unalike.participation import Always, Diurnal, Markov
from unalike.participation.strategies.bias import biased_importance
from unalike.theory.availability.optimization_error import Constants, optimization_bound

from .test_constants import CLASSES, FEATURES, L2, TASK, federation, loss_and_gradient

SIZES = (9, 14, 6, 11, 8)
OFTEN = Markov([0.9, 0.9, 0.8, 0.2, 0.1], [0.0, 0.1, 0.0, 0.3, 0.9])
EVERYONE = np.arange(5)


@pytest.fixture(scope="module")
def facts():
    return measure_losses(federation(SIZES), TASK, ProbeSettings(rounds=2, batches=2, batch_size=4))


@pytest.fixture(scope="module")
def advice(facts):
    return advise_availability(facts, Population.of(OFTEN, EVERYONE), rounds=50, bias_weight=0.01)


def test_each_strategy_counts_clients_as_its_weights_say(facts):
    pi, alpha = OFTEN.active, facts.importance
    found = strategy_weights(facts, Population.of(OFTEN, EVERYONE))
    np.testing.assert_allclose(biased_importance(pi, found["unbiased"]), alpha)
    np.testing.assert_allclose(found["more-available"], np.where(pi > 0.5, alpha / pi, 0))
    assert set(found) == {"unbiased", "more-available", "adafed", "ca-fed:1"}


def test_the_mean_weights_of_adafed_are_those_of_all_combinations(facts):
    pi, fair = OFTEN.active, facts.importance / OFTEN.active
    total = np.zeros(5)
    for state in range(1, 32):
        here = np.array([bool(state >> k & 1) for k in range(5)])
        total += np.prod(np.where(here, pi, 1 - pi)) * np.where(here, fair / fair[here].sum(), 0.0)
    found = strategy_weights(facts, Population.of(OFTEN, EVERYONE))["adafed"]
    np.testing.assert_allclose(found * pi, total, rtol=0.1, atol=0.003)


def test_the_bias_is_measured_and_below_its_bound(advice):
    assert advice["unbiased"].bias == advice["unbiased"].bias_bound == 0
    for one in advice.strategies:
        assert 0 <= one.bias <= one.bias_bound
        assert one.total_without_states < one.total
    assert advice["more-available"].bias > advice["adafed"].bias > 0
    assert advice["more-available"].chi_square == math.inf


def test_the_gaps_are_those_of_an_independent_computation(facts):
    theta = np.zeros((FEATURES + 1, CLASSES))
    parts, worst = [federation(SIZES).train.client(i) for i in range(5)], 0.0
    for _ in range(2000):
        steps = zip(facts.importance, parts, strict=True)
        theta = theta - 0.3 * sum(p * loss_and_gradient(theta, *part)[1] for p, part in steps)
    for part in parts:
        own = np.zeros_like(theta)
        for _ in range(2000):
            own = own - 0.3 * loss_and_gradient(own, *part)[1]
        worst = max(worst, loss_and_gradient(theta, *part)[0] - loss_and_gradient(own, *part)[0])
    assert facts.gap == pytest.approx(worst, abs=1e-4)
    assert facts.convexity == L2


def test_small_bias_weights_keep_few_and_large_ones_are_unbiased(facts, advice):
    assert advice["ca-fed:0.01"].kept < 5
    large = advise_availability(facts, Population.of(OFTEN, EVERYONE), rounds=50, bias_weight=1e6)
    assert large["ca-fed:1e+06"].optimization == large["unbiased"].optimization


def test_who_is_always_there_needs_no_strategy(facts):
    always = advise_availability(
        facts, Population.of(Always(clients=5), EVERYONE), rounds=20, bias_weight=1e6
    )
    assert len({one.optimization for one in always.strategies}) == 1
    assert max(one.bias for one in always.strategies) == 0


def test_clients_that_come_together_are_one_chain_and_those_left_out_none():
    together = Population.of(Markov(0.5, 0.9, groups=[0, 0, 1, 1]), np.arange(4))
    alone = Population.of(Markov(np.full(4, 0.5), np.array([0.9, 0.1, 0.2, 0.0])), np.arange(4))
    assert together.mixing(np.ones(4))["states"] == 4
    assert alone.mixing(np.ones(4))["states"] == 16
    left = alone.mixing(np.array([0.0, 1, 1, 1]))
    assert (left["states"], left["mixing_rate"]) == (8, 0.6)
    assert not alone.assumed
    assert Population.of(Diurnal(np.zeros(4, int)), np.arange(4)).assumed


def test_the_best_first_step_is_not_worse_than_others():
    constants = Constants(2.0, np.full(3, 0.5), 1.0, 1.0, 0.3, 4.0, local_steps=2)
    pi, q = np.array([0.9, 0.5, 0.2]), np.array([0.3, 0.5, 1.0])
    first, bound = best_rates(pi, q, constants, 40)
    falling = np.arange(1, 41) ** -0.6
    for factor in (0.5, 0.8):
        assert (
            bound.total - bound.states <= optimization_bound(pi, q, constants, factor * first * falling).total
        )


def test_what_is_not_measured_is_said(facts, advice):
    assert any("largest that were seen" in note for note in advice.notes)
    gone = Markov(np.array([0.9, 0.5, 0.5, 0.5, 0.0]), 0.0, clients=5)
    notes = advise_availability(facts, Population.of(gone, EVERYONE), rounds=5).notes
    assert any("never there" in note for note in notes)


def test_nobody_who_is_ever_there_is_no_population(facts):
    with pytest.raises(ConfigError, match="none of these clients is ever there"):
        advise_availability(facts, Population.of(Markov(0.0, 0.0, clients=5), EVERYONE))


def test_losses_that_may_be_flat_have_no_total_but_a_bias(facts):
    flat = advise_availability(replace(facts, convexity=0.0), Population.of(OFTEN, EVERYONE), rounds=5)
    assert {one.total for one in flat.strategies} == {None}
    assert flat["more-available"].bias > 0
    assert any("not strongly convex" in note for note in flat.notes)


def test_machines_get_every_term(advice):
    found = json.loads(json.dumps(advice.as_dict(), allow_nan=False))
    assert found["strategies"][1]["chi_square"] is None
    assert set(found["strategies"][0]["optimization"]) >= {"noise", "start", "states", "correlation", "total"}
    assert found["measured"]["heterogeneity"] > 0


def test_losses_that_are_not_convex_are_refused():
    task = Task.classification(mlp(3, input_shape=(FEATURES,), outputs=CLASSES), CLASSES, l2=L2)
    with pytest.raises(ConfigError, match="convex losses; measure a classification with --model linear"):
        measure_losses(federation(SIZES), task, ProbeSettings(rounds=0))
