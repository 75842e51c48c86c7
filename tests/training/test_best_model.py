"""Is the best model kept, also when a run is stopped and goes on?"""

import numpy as np
import pytest

import unalike
from unalike.core.run_files import BEST
from unalike.errors import RunError
from unalike.report.run_report import selection_cards
from unalike.runs import RunFolder, load_tensors
from unalike.runs.selection import best_in_words
from unalike.training.best_model import judging_metric
from unalike.training.run import Run

FEDERATION = unalike.load("digits", clients=4, samples=160, validation_fraction=0.2, seed=2)
MODEL = unalike.models.linear(input_shape=(8, 8, 1), outputs=10)
TASK = unalike.Task.classification(MODEL, classes=10)
ALGORITHM = unalike.FedAvg(optimizer=unalike.Optimizer("sgd", 3.0))  # so large a rate zigzags


def train(rounds=8, out=None, **rest):
    return unalike.train(FEDERATION, TASK, ALGORITHM, rounds=rounds, evaluate_every=1, out=out, **rest)


def test_the_best_model_is_that_of_the_best_evaluation(tmp_path):
    run = train(out=tmp_path / "run")
    curve = run.metrics()["validation_accuracy"][1:]
    _, words = load_tensors(tmp_path / "run" / BEST)
    assert int(words["round"]) == 1 + int(np.argmax(curve))
    assert float(words["value"]) == curve.max()
    best = Run.open(tmp_path / "run", task=TASK, algorithm=ALGORITHM, model="best")
    x, y = FEDERATION.validation.x, FEDERATION.validation.y
    np.testing.assert_allclose(np.mean(best.predict(x) == y), curve.max(), atol=1e-6)


def test_a_run_that_goes_on_ends_with_the_same_best_model(tmp_path):
    train(out=tmp_path / "whole")
    train(4, out=tmp_path / "parts", checkpoint_every=2)
    with RunFolder.open(tmp_path / "parts") as folder:
        train(out=folder, resume=True)
    whole, parts = (load_tensors(tmp_path / name / BEST) for name in ("whole", "parts"))
    assert whole[1] == parts[1]
    for name, tensor in whole[0].items():
        np.testing.assert_array_equal(tensor, parts[0][name])


def test_rows_for_validation_judge_before_those_for_testing():
    assert judging_metric(TASK, FEDERATION) == "validation_accuracy"
    assert judging_metric(TASK, FEDERATION.with_validation_in_training()) == "test_accuracy"


def test_clients_with_models_of_their_own_have_no_single_best(tmp_path):
    from unalike.algorithms import Ditto

    run = unalike.train(FEDERATION, TASK, Ditto(), rounds=1, out=tmp_path / "run")
    with pytest.raises(RunError, match="no best model"):
        Run.open(run.folder.path, task=TASK, algorithm=Ditto(), model="best")


@pytest.mark.parametrize("patience", [1, 3])
def test_patience_ends_so_many_rounds_after_the_best(patience):
    run = train(40, patience=patience)
    curve = run.metrics()["validation_accuracy"]
    best = int(np.argmax(curve))  # the first of equal ones
    assert run.rounds == min(best + patience, 40)


@pytest.mark.parametrize(("fraction", "said"), [(0.0, True), (0.2, False)])
def test_a_run_says_when_test_rows_decided(tmp_path, fraction, said):
    federation = unalike.load("digits", clients=4, samples=120, validation_fraction=fraction, seed=1)
    task = unalike.Task.of(federation, "linear")
    run = unalike.train(
        federation, task, unalike.FedAvg(), rounds=4, patience=2, evaluate_every=1, out=tmp_path / "r"
    )
    assert ("patience on test rows" in {event["kind"] for event in run.events()}) == said
    assert best_in_words(run.record.meta()).endswith("(chosen on test rows)") == said
    cards = selection_cards(run.record.meta(), run.events())
    assert ("Early stopping" in cards) == said
    run.folder.close()
