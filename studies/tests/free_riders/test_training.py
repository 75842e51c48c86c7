"""Are the trainings with free-riders set up as they were, and would mistakes be caught?"""

import numpy as np
import pytest

from unalike.algorithms import FedAvg, FedProx
from unalike_studies.free_riders import races, training
from unalike_studies.free_riders.data import HONEST, shards, with_free_riders
from unalike_studies.free_riders.monitor import monitor_claims
from unalike_studies.free_riders.races import Outcome, Race


@pytest.fixture(scope="module")
def digits():
    return shards(quick=True)


@pytest.fixture
def short(monkeypatch):
    """Races of a few rounds."""
    monkeypatch.setattr(races, "ROUNDS", 6)
    monkeypatch.setattr(races, "TARGET", 3)
    monkeypatch.setattr(training, "ROUNDS", 6)


def test_five_clients_have_four_shards_each_and_every_digit_is_there_twice(digits):
    federation = digits.federation()
    assert federation.train.sizes.tolist() == [4 * digits.train] * HONEST
    assert federation.test.sizes.tolist() == [4 * digits.test] * HONEST
    assert (federation.label_counts() % digits.train == 0).all()
    assert (federation.label_counts().sum(axis=0) == 2 * digits.train).all()
    for client in range(HONEST):
        assert {2 * client, 2 * client + 1} <= set(federation.train.client(client)[1].tolist())


def test_free_riders_have_a_row_that_nobody_judges_by(digits):
    honest = digits.federation()
    both = with_free_riders(honest, 7)
    assert both.train.sizes.tolist() == [*honest.train.sizes, *[1] * 7]
    assert both.test.sizes[HONEST:].sum() == both.validation.sizes[HONEST:].sum() == 0
    assert np.array_equal(both.test.x, honest.test.x)


def test_all_scenarios_start_from_one_model_and_others_from_others(digits, short):
    race = Race(digits, FedAvg)
    assert race.plain[1].loss[0] == race.fair.loss[0] == race.plain[45].loss[0]
    assert len({race.scenario(start=start).loss[0] for start in range(3)}) == 3


def test_free_riders_are_a_smaller_learning_rate_in_a_short_training(digits, short):
    claims = list(training.identity_claims(Race(digits, FedAvg)))
    assert [claim.hard for claim in claims] == [True, False]
    assert claims[0].holds
    assert claims[1].measured < 1e-5


def test_sigma_follows_what_honest_clients_weigh(digits, short):
    race = Race(digits, FedAvg)
    race.__dict__["disguised"] = {(k, "sigma"): race.scenario(k, "decay,1,1") for k in (1, 5, 45)}
    assert training.sigma_claim(race).holds
    race.__dict__["disguised"][45, "sigma"] = race.__dict__["disguised"][1, "sigma"]
    assert not training.sigma_claim(race).holds


def test_the_method_is_what_it_is_called(digits):
    assert Race(digits, FedProx).method.mu == 1.0
    assert type(Race(digits, FedAvg).method) is FedAvg


def made_up(slow=1.0, end=90.0):
    """A race without training: losses fall like 1 / (1 + t / slow)."""

    def outcome(pace, final, rounds=60):
        loss = 1 / (1 + np.arange(rounds + 1) / pace)
        return Outcome(np.full(rounds + 1, final), loss, None)

    race = Race(shards(quick=True), FedAvg)
    race.__dict__["fair"] = outcome(1.0, 90.0)
    race.__dict__["others"] = [89.9, 90.1]
    plain = {1: outcome(1.2 * slow, end), 5: outcome(2 * slow, end, 120), 45: outcome(10 * slow, end, 180)}
    race.__dict__["plain"] = plain
    kinds = {(1, w): plain[1] for w in races.DISGUISES}
    race.__dict__["disguised"] = kinds | {(k, w): plain[k] for k in (5, 45) for w in ("sigma", "3 sigma")}
    return race


def test_claims_are_judged_by_the_curves():
    for claim in (
        training.one_free_rider_claim(made_up()),
        *training.slow_down_claims(made_up()),
        *training.crowd_claims(made_up()),
        *training.disguise_claims(made_up()),
    ):
        assert claim.holds, claim
    assert not training.one_free_rider_claim(made_up(end=88.0)).holds
    assert not any(claim.holds for claim in training.slow_down_claims(made_up(slow=2.0)))
    assert [claim.holds for claim in training.crowd_claims(made_up(end=80.0))] == [True, False, False]


def test_a_loss_that_is_never_reached_is_no_slow_down():
    assert made_up(slow=1e6).slow_down(1) == np.inf


def test_a_server_notices_free_riders_and_leaves_fair_clients_alone():
    claims = monitor_claims(quick=True)
    assert {claim.id for claim in claims} == {"F17", "F18"}
    assert all(claim.holds for claim in claims)
