"""Are rates chosen by validation rows alone, and are finished trainings kept?"""

from functools import partial

import numpy as np
import pytest

from unalike.data.sources.source import Source
from unalike_studies.streams import published, synthetic, tuning
from unalike_studies.streams.problems import logistic, mean_accuracy
from unalike_studies.study import Effort, parts_of
from unalike_studies.trainings import Trainings


def test_the_grid_is_the_published_one():
    np.testing.assert_allclose(np.log10(tuning.RATES), [-3.5, -3, -2.5, -2, -1.5, -1])


def test_the_rate_that_validates_best_is_trained_again_on_all_rows():
    asked = []

    def score(problem, weights, rate, seed, part):
        asked.append((part, len(problem.federation.validation.y)))
        return {"validation": -abs(np.log10(rate) + 2), "test": 1000 * rate}[part]

    found = tuning.tune(partial(logistic, 0.2), "uniform", tuning.RATES, 0, score)
    assert found == pytest.approx((0.01, 10.0))
    assert [part for part, _ in asked] == ["validation"] * 6 + ["test"]
    assert all((rows > 0) == (part == "validation") for part, rows in asked)


def test_rows_that_validate_return_to_training():
    cut, whole = logistic(0.2, 0, tuning.VALIDATION), logistic(0.2, 0, 0.0)
    rows = [len(problem.federation.train.y) for problem in (cut, whole)]
    assert rows == [200 - len(cut.federation.validation.y), 200]
    assert [problem.rounds for problem in (cut, whole)] == [128, 160]
    np.testing.assert_array_equal(cut.federation.test.x, whole.federation.test.x)


def test_a_training_that_diverged_is_not_chosen():
    scores = {0.1: float("nan"), 0.2: 50.0}
    make = partial(logistic, 0.5)
    assert tuning.choose_rate(make, "fresh", (0.1, 0.2), 0, lambda p, w, rate, s, part: scores[rate]) == 0.2


def test_the_metric_is_the_mean_over_clients():
    run = logistic(0.5, 0).learn("uniform", 0.1, 0)
    assert mean_accuracy(run) == pytest.approx(100 * run.client_metrics()["test_accuracy"].mean())


def tiny(rows=800):
    rng = np.random.default_rng(0)
    return Source(rng.integers(0, 256, (rows, 32, 32, 3)).astype(np.uint8), rng.integers(0, 10, rows), 10)


def test_image_claims_keep_their_trainings(monkeypatch, tmp_path):
    """Without the CNN, which takes too long here."""
    trained = []

    def learn(self, weights, rate, seed, method="fedavg"):
        trained.append((weights, rate, seed))
        return rate

    monkeypatch.setattr(published.Problem, "learn", learn)
    monkeypatch.setattr(published, "mean_accuracy", lambda rate, part: 50 + rate)
    monkeypatch.setattr(published, "IMAGES", 800)

    def claims():
        effort = Effort(Trainings(tmp_path / "trainings"), runs=2, share=0.1)
        found = list(published.image_claims("DS-21", "CIFAR-10", "dirichlet-class:0.4", effort, tiny()))
        assert effort.trainings.finished == effort.trainings.expected == 3 * 7 * (6 + 2)
        return found

    found = claims()
    assert len(found) == 3 * 2 + 2
    assert all("4 rounds where the curves have 800, 2 runs" in claim.note for claim in found[1:6:2])
    assert "rate 0.1" in found[1].note
    count = len(trained)
    assert count == 3 * 7 * 8
    assert claims() == found
    assert len(trained) == count


def test_what_is_not_in_the_folder_is_left_out(monkeypatch):
    monkeypatch.setattr(published, "local", lambda name: None)
    assert {"DS-21", "DS-22", "DS-23"} <= set(parts_of("streams"))
    assert [claim for part in parts_of("streams").values() for claim in part(Effort())] == []


def test_a_swap_of_strategies_would_be_seen():
    marks = {
        name: [tuning.Tuned(0.1, value)] * 2
        for name, value in zip(synthetic.NAMES, (70, 60, 71, 64), strict=True)
    }
    cell = synthetic.CELLS["Synthetic"][0]
    claims = list(synthetic.order_claims(0.05, cell, "Table 4.4", marks, hard=True))
    assert [claim.holds for claim in claims] == [True, False, False]
    assert tuning.share_at_edge(marks, tuning.RATES) == 1
