"""Does sampling from groups of similar clients stay unbiased, and represent every kind in every round?"""

import numpy as np
import pytest

from unalike.core.random import generator
from unalike.errors import ConfigError
from unalike.participation import ClusteredByData, RoundContext
from unalike.participation.samplers.multinomial import Multinomial

KINDS = np.arange(12) % 3


def messages(noise=0.05):
    rows = np.eye(3)[KINDS] + noise * np.random.default_rng(0).random((12, 3))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_every_kind_is_in_every_round():
    sampler = ClusteredByData(per_round=3, messages=messages())
    assert {tuple(KINDS[group]) for group in sampler.groups(np.full(12, 1 / 12))} == {
        (kind,) * 4 for kind in range(3)
    }
    for k in range(20):
        drawn = sampler.draw(np.full(12, 1 / 12), generator(k, "draw"))
        assert sorted(KINDS[drawn.clients]) == [0, 1, 2]
        np.testing.assert_allclose(drawn.weights, 1 / 3)


@pytest.mark.parametrize("per_round", [2, 3, 5])
def test_weights_are_unbiased_and_no_more_random_than_multinomial_ones(per_round):
    importance = np.random.default_rng(1).dirichlet(np.full(12, 3.0))
    sampler = ClusteredByData(per_round=per_round, messages=messages())
    found = sampler.statistics(importance)
    np.testing.assert_allclose(sampler.matrix(importance).mean(axis=0), importance, atol=1e-6)
    plain = Multinomial(per_round=per_round).statistics(importance)
    assert (found.variance <= plain.variance + 1e-9).all()


def test_those_who_are_there_are_grouped_among_themselves():
    sampler = ClusteredByData(per_round=3, messages=messages(), sizes=np.ones(12))
    there = np.array([0, 1, 2, 5, 9])
    turn = RoundContext(0, np.full(12, 1 / 12)).among(there, np.ones(5))
    drawn = sampler.cohort(turn)
    assert drawn.weights.sum() == pytest.approx(1)
    assert drawn.clients.max() < 5  # places among those who are there


def test_without_messages_or_with_too_few_it_is_refused():
    with pytest.raises(ConfigError, match="needs a message of each client"):
        ClusteredByData(per_round=2).check(4, 1)
    with pytest.raises(ConfigError, match=r"one row per client \(5\)"):
        ClusteredByData(per_round=2, messages=np.eye(4)).check(5, 1)
    with pytest.raises(ConfigError, match="at most 4,000"):
        ClusteredByData(per_round=2, messages=np.eye(4)).check(5000, 1)
