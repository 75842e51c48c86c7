"""Do schemes of unlearning differ as they should, on a few clients?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike.errors import UnalikeError
from unalike.experiments.unlearning_branch import Branch, RetainRestarts, mean_update, move
from unalike.experiments.unlearning_schemes import forget_in_sequence, prefixes, train_branch
from unalike.trust.unlearning.calibration import Budget
from unalike_studies.unlearning.data import REQUESTS, small
from unalike_studies.unlearning.training import traffic_claim


@pytest.fixture(scope="module")
def problem():
    return replace(small(0), rounds=25, stop_at="train_accuracy:0.99")


@pytest.fixture(scope="module")
def first(problem):
    return train_branch(problem, problem.start(), replays=[[], *prefixes(REQUESTS[:2])])


def forgotten(problem, first, scheme, sigma=0.01, mode="reference"):
    return forget_in_sequence(problem, scheme, REQUESTS[:2], first, Budget(10, 0.01, sigma, "classic"), mode)


def test_every_client_has_one_digit(problem):
    counts = problem.federation.label_counts()
    assert (counts.argmax(axis=1) == np.arange(100) % 10).all()
    assert (counts.max(axis=1) == 15).all()


def test_scratch_knows_nothing_of_who_was_forgotten(problem, first):
    assert [one.residual for one in forgotten(problem, first, "scratch")] == [0.0, 0.0]


def test_little_noise_goes_back_to_before_they_took_part_and_much_to_the_last_model(problem, first):
    took_part = np.array(first.weights)[:, REQUESTS[0]].any(axis=1)
    little, much = (forgotten(problem, first, "sifu", sigma) for sigma in (1e-9, 1e3))
    assert little[0].restart == (0, int(np.argmax(took_part)))
    assert much[0].restart == (0, first.rounds)


def test_the_honest_ledger_restarts_no_later(problem, first):
    one, other = (forgotten(problem, first, "sifu", 0.05, mode)[0] for mode in ("realized", "reference"))
    assert one.restart.round <= other.restart.round


def test_replaying_all_updates_leads_to_the_trained_model(first):
    again = move(first.states[0], first.replayed([]))
    for leaf, other in zip(again["params"].values(), first.last["params"].values(), strict=True):
        np.testing.assert_allclose(np.asarray(leaf), other, atol=1e-4)


def test_replaying_leaves_out_who_is_gone():
    updates = np.stack([np.ones(4), 3 * np.ones(4), 7 * np.ones(4)])
    weights = np.array([0.25, 0.25, 0.5])
    assert mean_update(np.array([0, 1, 5]), weights, updates, [5]).tolist() == [2.0] * 4
    assert mean_update(np.array([0, 1, 5]), weights, updates, [0, 1, 5]) == 0
    with pytest.raises(UnalikeError, match="train with replays"):
        Branch(np.ones(2)).replayed([3])


def test_keeping_few_models_changes_no_restart(problem, first):
    """Beside all models: the same restarts, from three models and not from 25."""
    budget, requests = Budget(10, 0.01, 0.02, "classic"), REQUESTS[:2]
    limit = budget.largest_sensitivity
    few = RetainRestarts(requests, limit, "reference")
    lean = train_branch(problem, problem.start(), retain=few)
    assert len(lean.states) <= 4
    whole = forget_in_sequence(problem, "sifu", requests, first, budget, "reference")
    again = forget_in_sequence(problem, "sifu", requests, lean, budget, "reference", retain=few)
    assert whole == again
    assert whole[0].restart.round > 0


def test_the_ledger_sends_nothing(problem):
    claim = traffic_claim(problem)
    assert claim.holds
    assert claim.note == "equal models: True"
