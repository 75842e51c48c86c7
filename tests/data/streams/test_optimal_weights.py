"""Do optimal weights minimize the bound for the target that is asked for, and refuse what means nothing?"""

import math

import numpy as np
import pytest

from unalike import MemoryStream
from unalike.data.streams import stream_weight_registry
from unalike.data.streams.bound_constants import Constants
from unalike.data.streams.optimal_importance import imbalance, optimal_importance, phi
from unalike.data.streams.optimal_weights import Optimal
from unalike.data.streams.target_importance import Tradeoff, general_importance, target_bound
from unalike.data.streams.weights import Collected
from unalike.errors import ConfigError
from unalike_studies.streams.weights import draw_target, least_by_slsqp

from .test_memory import federation


def clients(sizes=(10, 30, 40, 20), kept=2):
    return Collected(np.array(sizes), np.arange(len(sizes)) < kept, np.full(len(sizes), 1 / len(sizes)))


@pytest.mark.parametrize("seed", range(4))
def test_no_general_solver_finds_less_for_any_target(seed):
    shares, fresh, tradeoff, target = draw_target(seed + 100)
    found = general_importance(shares, fresh, target, tradeoff.terms)
    value = float(phi(found, shares, fresh, target, tradeoff.terms))
    assert value <= least_by_slsqp(shares, fresh, tradeoff, target) + 1e-7


@pytest.mark.parametrize("ratio", [0.05, 0.3, 2.0, math.inf])
@pytest.mark.parametrize("discrepancy", [0.1, 0.5, 0.9])
def test_two_clients_by_trying_every_weight(ratio, discrepancy):
    shares, fresh, target = np.array([0.2, 0.8]), [False, True], np.array([0.5, 0.5])
    terms = Tradeoff(ratio, discrepancy).terms
    tried = np.linspace(0, 1, 20_001)
    every = phi(np.stack([tried, 1 - tried], axis=1), shares, fresh, target, terms)
    found = general_importance(shares, fresh, target, terms)
    assert float(phi(found, shares, fresh, target, terms)) <= every.min() + 1e-8
    assert found[0] == pytest.approx(tried[every.argmin()], abs=2e-3)


def test_by_rows_it_is_the_published_rule_and_equal_is_another():
    rows = np.array([0.1, 0.3, 0.4, 0.2])
    fresh = np.array([False, False, True, True])
    for words in ("optimal:0.6", "optimal:0.6,data"):
        weights = stream_weight_registry.make(words)
        np.testing.assert_allclose(weights.shares(clients()), optimal_importance(rows, fresh, 0.6))
        assert weights.facts() == {"tradeoff_ratio": 0.6}
    equal = stream_weight_registry.make("optimal:0.6,equal")
    expected = general_importance(rows, fresh, np.full(4, 0.25), Tradeoff(0.6, 0.5).terms)
    np.testing.assert_allclose(equal.shares(clients()), expected)
    assert equal.facts() == {"tradeoff_ratio": 0.6, "tradeoff_discrepancy": 0.5}
    strong = stream_weight_registry.make("optimal:30,equal,0.99")
    np.testing.assert_allclose(strong.shares(clients()), 0.25, atol=1e-9)


def test_a_target_from_a_file_or_an_array(tmp_path):
    (tmp_path / "alpha.txt").write_text("0.4 0.1 0.1 0.4")
    by_file = stream_weight_registry.make(f"optimal:50,{tmp_path / 'alpha.txt'},0.99").shares(clients())
    np.testing.assert_allclose(by_file, [0.4, 0.1, 0.1, 0.4], atol=1e-9)
    np.testing.assert_allclose(Optimal(50.0, [0.4, 0.1, 0.1, 0.4], 0.99).shares(clients()), by_file)


def test_constants_are_estimated_where_the_ratio_is_not_given():
    measured = Constants(diameter=1.0, gradient=2.0, loss=0.5, parameters=25, rows=100).tradeoff(4)
    assert measured == Tradeoff(0.25, 0.5)
    weights = stream_weight_registry.make("optimal:estimated,equal")
    with pytest.raises(ConfigError, match="a training estimates it"):
        weights.shares(clients())
    weights.fit(lambda: Tradeoff(0.7, 0.2))
    assert weights.facts() == {"tradeoff_ratio": 0.7, "tradeoff_discrepancy": 0.2}
    kept = Optimal(None, "equal", 0.9)
    kept.fit(lambda: Tradeoff(0.7, 0.2))
    assert kept.tradeoff == Tradeoff(0.7, 0.9)


def test_a_stream_gives_clients_the_weights_of_the_target():
    stream = MemoryStream("spread:10,2", "replace", "optimal:0.5,equal")
    stream.begin(federation([10, 30, 40, 20]), 0, 10)
    expected = Optimal(0.5, "equal").shares(clients())
    np.testing.assert_allclose(stream.run_weights(range(10)).clients, expected, atol=1e-9)


def test_the_bound_without_noise_is_what_rows_are_worth():
    shares, p = np.array([0.5, 0.5]), np.array([0.9, 0.1])
    assert target_bound(p, shares, [True, False], Tradeoff(math.inf)) == np.sqrt(imbalance(p, shares))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("optimal:equal", "begin with c2/c1, a number or 'estimated', such as optimal:estimated,equal"),
        ("optimal:0.1,eqaul", "must be data or equal, or a file of one number per client, but are 'eqaul'"),
        (f"optimal:0.1,{'a' * 3000}", "must be data or equal, or a file of one number per client"),
        ("optimal:0.1,equal,2", "from 0 to 1, but is 2"),
        ("optimal:-1,equal", "must not be negative, but is -1"),
        ("optimal:0.1,equal,0.5,9", "wrong arguments"),
    ],
)
def test_a_mistake_is_one_sentence(words, sentence):
    with pytest.raises(ConfigError, match=sentence):
        stream_weight_registry.make(words)
