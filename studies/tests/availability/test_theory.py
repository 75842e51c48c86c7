"""Do the claims on clients that come and go hold, and would wrong arithmetic be caught?"""

import numpy as np
import pytest

from unalike.participation import AvailableOnly, Estimated
from unalike_studies.availability import theory


def broken(claims):
    """The hard claims that do not hold."""
    return [claim for claim in claims if claim.hard and not claim.holds]


@pytest.fixture(scope="module")
def shares():
    return {name: theory.group_shares(name, 1500) for name in ("unbiased", "adafed", "fedavg", "f3ast")}


# The claims hold.


@pytest.mark.parametrize(
    ("claims", "count"),
    [
        (lambda: theory.chain_claims(20_000), 7),
        (lambda: theory.error_claims(60), 3),
        (lambda: theory.inequality_claims(40), 3),
        (lambda: theory.limit_claims(15_000), 3),
        (lambda: theory.estimator_claims(2), 6),
    ],
    ids=["chains", "error", "inequalities", "limit", "estimators"],
)
def test_the_claims_hold(claims, count):
    found = list(claims())
    assert broken(found) == []
    assert len(found) == count
    assert all(claim.hard for claim in found)


def test_the_claims_on_shares_hold(shares, monkeypatch):
    monkeypatch.setattr(theory, "group_shares", lambda name, rounds: shares[name])
    found = list(theory.share_claims(1500))
    assert broken(found) == []
    assert len(found) == 5


def test_shares_are_shares(shares):
    for share in shares.values():
        assert share.shape == (3,)
        assert share.sum() == pytest.approx(1.0)
    assert shares["fedavg"][0] > shares["adafed"][0] > shares["unbiased"][0] - 0.05


# Wrong arithmetic is caught.


def test_clients_without_memory_are_caught_where_they_should_have_one(monkeypatch):
    """Independent rounds of the right availability: only correlation and runs are wrong."""

    def forgetful(chains, rounds):
        return np.random.default_rng(0).random((rounds, len(chains.active))) < chains.active

    monkeypatch.setattr(theory, "simulate", forgetful)
    caught = broken(theory.chain_claims(8000))
    assert [claim.claim for claim in caught] == ["their correlation between rounds", "their mean run"]


def test_clients_that_are_there_too_often_are_caught(monkeypatch):
    """Everyone is there in every tenth round: that doubles the rare ones' availability."""
    honest = theory.simulate

    def too_often(chains, rounds):
        return honest(chains, rounds) | (np.arange(rounds) % 10 == 0)[:, None]

    monkeypatch.setattr(theory, "simulate", too_often)
    caught = [claim.claim for claim in broken(theory.chain_claims(5000))]
    assert [claim for claim in caught if claim.startswith("availability")] == [
        "availability of clients rarely there",
        "availability of clients rarely there, in runs",
    ]


def coins(chains, rounds):
    """A trace that costs nothing."""
    return np.random.default_rng(0).random((rounds, 100)) < 0.5


def test_a_transition_matrix_with_its_states_swapped_is_caught(monkeypatch):
    honest = theory.transition_matrix
    monkeypatch.setattr(theory, "transition_matrix", lambda *numbers: honest(*numbers)[::-1, ::-1])
    monkeypatch.setattr(theory, "simulate", coins)
    caught = broken(theory.chain_claims(100))
    assert caught[0].claim == "transition probabilities give back availability and correlation"


def test_a_product_of_chains_with_another_second_eigenvalue_is_caught(monkeypatch):
    monkeypatch.setattr(theory, "joint_chain", lambda chains: chains[0])
    monkeypatch.setattr(theory, "simulate", coins)
    assert "A2" in {claim.id for claim in broken(theory.chain_claims(100))}


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("subset_error", lambda mass, gap, weight, largest: gap / mass + weight * (1 - mass) ** 2 * largest),
        ("biased_importance", lambda active, weights: np.asarray(weights) / np.sum(weights)),
        ("total_variation", lambda alpha, p: float(np.abs(alpha - p).sum())),
    ],
)
def test_a_wrong_formula_of_the_error_is_caught(monkeypatch, name, wrong):
    monkeypatch.setattr(theory, name, wrong)
    assert {claim.id for claim in broken(theory.error_claims(20))} == {"A3"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("total_bound", "optimization + bias"),
        ("bias_bound", "chi2"),
        ("bias_bound_by_variation", "TV"),
    ],
)
def test_a_bound_that_is_too_small_is_caught(monkeypatch, name, words):
    honest = getattr(theory, name)
    monkeypatch.setattr(theory, name, lambda *numbers: 1e-6 * honest(*numbers))
    (caught,) = broken(theory.inequality_claims(20))
    assert words in caught.claim


def test_weights_that_do_not_lead_where_they_should_are_caught(monkeypatch):
    """If weights are believed to count as they are, without availability."""
    monkeypatch.setattr(theory, "biased_importance", lambda active, weights: weights / weights.sum())
    assert len(broken(theory.limit_claims(3000))) == 2


def test_an_estimator_that_divides_stays_by_all_rounds_is_caught(monkeypatch):
    """As a well-known implementation does: it estimates pi s1 and (1 - pi) s0 instead of s1 and s0."""

    class OverAllRounds(Estimated):
        @property
        def correlation(self):
            rounds = self._moves + 2
            return (self._stayed_there + 1) / rounds + (self._stayed_away + 1) / rounds - 1

    monkeypatch.setattr(theory, "Estimated", OverAllRounds)
    assert any("correlation" in claim.claim for claim in broken(theory.estimator_claims(1)))


def test_an_estimator_that_does_not_learn_is_caught(monkeypatch):
    class Stubborn(Estimated):
        def see(self, present):
            pass

    monkeypatch.setattr(theory, "Estimated", Stubborn)
    assert sum("exponent of t" in claim.claim for claim in broken(theory.estimator_claims(1))) == 2


def test_a_biased_strategy_that_calls_itself_unbiased_is_caught(monkeypatch):
    monkeypatch.setattr(theory, "Unbiased", AvailableOnly)
    wrong = theory.group_shares("unbiased", 500)
    monkeypatch.setattr(theory, "group_shares", lambda name, rounds: wrong)
    caught = [claim.claim for claim in broken(theory.share_claims(500))]
    assert [claim for claim in caught if "unbiased" in claim] == [
        f"share of all weight, unbiased, group {group}" for group in range(3)
    ]
    assert any("F3AST" in claim for claim in caught)
