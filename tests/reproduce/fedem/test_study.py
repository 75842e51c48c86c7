"""Do the exact claims on FedEM hold, and would a wrong sign, order or weight be caught?"""

import numpy as np
import pytest
from scipy.special import expit

from unalike.data.sources.mixture import draw_mixture
from unalike.reproduce.fedem import data, theory
from unalike.reproduce.fedem import training as lessons
from unalike.theory.mixtures import em_oracle


def broken(claims):
    """The hard claims that do not hold."""
    return [claim for claim in claims if claim.hard and not claim.holds]


@pytest.mark.parametrize(
    ("claims", "count"),
    [
        (lambda: theory.identity_claims(range(2)), 4),
        (lambda: theory.sign_claims(range(2)), 2),
        (lambda: theory.mixing_claims(quick=True), 6),
    ],
)
def test_exact_claims_hold(claims, count):
    made = list(claims())
    assert len(made) == count
    assert broken(made) == []


def test_a_divergence_the_wrong_way_round_is_caught(monkeypatch):
    right = em_oracle.divergence
    monkeypatch.setattr(theory, "divergence", lambda p, q: right(q, p))
    assert len(broken(theory.identity_claims(range(1)))) == 2


def test_a_wrong_posterior_is_caught(monkeypatch):
    monkeypatch.setattr(
        em_oracle.MixtureProblem, "posterior", lambda self, theta, weights: weights[self.owners]
    )
    assert broken(theory.identity_claims(range(1)))


def test_the_slope_of_the_objective_is_what_differences_give():
    problem, theta, weights, _ = theory.drawn(0)
    direction = np.random.default_rng(0).normal(size=theta.shape)
    ends = [problem.objective(theta + h * direction, weights) for h in (1e-5, -1e-5)]
    slope = (theory.slope_of(problem, theta, weights) * direction).sum()
    assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(slope, abs=1e-8)


# The lessons' data


@pytest.fixture(scope="module")
def lesson():
    return data.synthetic(3, clients=8, dimension=5, test_rows=400)


def test_lessons_keep_the_training_rows_of_the_named_data_set(lesson):
    drawn = draw_mixture(3, 5, 0.4, clients=8, seed=3)
    assert (lesson.federation.train.x == drawn.x).all()
    assert (lesson.federation.train.y == drawn.y).all()
    assert (lesson.federation.test.sizes == 400).all()


def test_test_rows_follow_the_same_law_as_training_rows(lesson):
    """The chance of a label given its row, averaged, is the share of that label."""
    truth, test = lesson.truth, lesson.federation.test
    raw = test.x.astype(float) @ truth.models.T
    noise = np.random.default_rng(0).standard_normal(500)
    chance = expit(raw[..., None] + noise).mean(-1)
    mixed = (chance * truth.shares[test.owners]).sum(1)
    assert abs(test.y.mean() - mixed.mean()) < 0.03


def test_nobody_beats_the_best_possible_predictor_by_more_than_luck(lesson):
    test, truth = lesson.federation.test, lesson.truth
    single = (test.x @ truth.models[0] > 0) == test.y
    assert data.best_possible(lesson).mean > 100 * single.mean()


def test_clients_count_by_training_rows_and_the_decile_is_a_client(lesson):
    sizes = lesson.federation.train.sizes
    accuracy = np.linspace(0.5, 0.9, len(sizes))
    found = data.score_of(accuracy, lesson.federation)
    assert found.mean == pytest.approx(100 * np.average(accuracy, weights=sizes))
    assert found.decile == pytest.approx(100 * accuracy[max(1, len(sizes) // 10) - 1])


def test_choosing_settings_never_sees_test_rows(lesson):
    kept = lesson.held_out().federation
    assert kept.test is lesson.federation.test
    assert kept.validation.sizes.sum() > 0
    assert kept.train.sizes.sum() + kept.validation.sizes.sum() == lesson.federation.train.sizes.sum()


def test_the_best_setting_on_held_out_rows_is_chosen(lesson):
    """A rate of zero learns nothing."""
    rate = data.tuned(lesson, lambda r: lesson.algorithm("fedavg", r, 5), (0.0, 0.5), 5)
    assert rate == 0.5


def test_a_part_of_the_rows_is_the_first_of_every_client(lesson):
    few = lessons._first_rows(lesson.federation, 0.2).train
    for t in range(8):
        x, _ = lesson.federation.train.client(t)
        assert (few.client(t)[0] == x[: max(1, int(0.2 * len(x)))]).all()
