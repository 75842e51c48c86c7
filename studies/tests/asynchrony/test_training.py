"""Are orders of policies read off their losses as they should be?"""

import math

import numpy as np
import pytest

from unalike.theory.asynchrony.objective import Surrogate
from unalike_studies.asynchrony import training
from unalike_studies.asynchrony.data import Pair


def broken(claims):
    """The hard claims that do not hold."""
    return [claim for claim in claims if claim.hard and not claim.holds]


def test_all_but_one_draw_must_agree():
    minimized = Surrogate(np.array([0.5, 0.5]), np.array([0.8, 0.2]))
    good = Pair(np.array([0.1, 0.9]), np.array([0.3, 0.5]), minimized)
    bad = Pair(good.corrected, good.identical, minimized)
    assert broken(training.order_claims("here", [good] * 4 + [bad], hard=True)) == []
    assert len(broken(training.order_claims("here", [good] * 3 + [bad] * 2, hard=True))) == 3
    assert len(broken(training.order_claims("here", [good, bad], hard=True))) == 3
    assert broken(training.order_claims("here", [bad] * 5, hard=False)) == []


GOOD = {
    "wait-for-all": np.array([[1.4, 0.5, 0.3]]),
    "FedFix-0.5": np.array([[1.1, 0.4, 0.29]]),
    "FedBuff-10": np.array([[0.9, 0.3, 0.31]]),
    "async": np.array([[0.5, 0.35, 2.0]]),
}


def test_orders_of_policies_are_read_off_the_table():
    assert broken(training.small_step_claims(GOOD)) == []
    assert broken(training.best_step_claims(GOOD, "here")) == []
    assert broken(training.large_step_claims(GOOD, (0.01, 0.1, 1.0))) == []
    assert training.best(GOOD, "async") == 0.35


@pytest.mark.parametrize("name", ["FedFix-0.5", "FedBuff-10"])
def test_a_policy_out_of_order_is_caught(name):
    assert broken(training.small_step_claims({**GOOD, name: np.array([[1.5, 0.1, 0.1]])}))
    assert broken(training.small_step_claims({**GOOD, name: np.array([[0.4, 0.1, 0.1]])}))


def test_a_worse_best_loss_is_caught_for_fedfix_and_only_reported_for_async():
    assert broken(training.best_step_claims({**GOOD, "FedFix-0.5": np.array([[1.0, 0.4, 0.31]])}, "here"))
    ahead = list(training.best_step_claims({**GOOD, "async": np.array([[0.2, 0.3, 2.0]])}, "here"))
    assert broken(ahead) == []
    assert not ahead[1].holds


def test_large_steps_that_async_survives_are_caught_and_divergence_is_not():
    assert broken(
        training.large_step_claims({**GOOD, "async": np.array([[0.5, 0.3, 0.5]])}, (0.01, 0.1, 1.0))
    )
    wild = {**GOOD, "async": np.array([[0.5, 0.3, math.inf]])}
    assert broken(training.large_step_claims(wild, (0.01, 0.1, 1.0))) == []


def test_one_diverged_seed_makes_a_learning_rate_hopeless():
    losses = np.array([[0.5, 0.1], [0.5, math.inf]])
    assert training.best({"async": losses}, "async") == 0.5


@pytest.mark.slow
def test_problems_at_the_limits_of_fedfix_hold():
    assert broken(training.limit_claims(quick=True)) == []
