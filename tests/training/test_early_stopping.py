"""Does training stop as soon as it is good enough, and at the same round when it is resumed?"""

import numpy as np
import pytest

import unalike
from unalike.errors import ConfigError
from unalike.runs import RunFolder
from unalike.training.early_stopping import StopRule

FEDERATION = unalike.load("digits", clients=6, partition="iid", samples=300, seed=0)
MODEL = unalike.models.linear(input_shape=(8, 8, 1), outputs=10)
TASK = unalike.Task.classification(MODEL, classes=10)


def train(rounds=40, **rest):
    return unalike.train(FEDERATION, TASK, unalike.FedAvg(), rounds=rounds, seed=0, **rest)


def test_the_first_round_that_is_good_enough_is_the_last():
    curve = train(evaluate_every=1).metrics()["test_accuracy"]
    target = float(np.quantile(curve, 0.6))
    first = int(np.argmax(curve >= target))
    stopped = train(stop_at=f"test_accuracy:{target}")
    assert stopped.rounds == first
    assert stopped.metrics()["test_accuracy"][-1] >= target
    assert train(stop_at=f"test_accuracy:{target},{first + 3}").rounds >= first + 3


def test_a_loss_is_good_when_it_is_small_and_training_rows_can_be_asked():
    assert train(stop_at="test_loss:1.5").metrics()["test_loss"][-1] <= 1.5
    run = train(stop_at="train_accuracy:0.8")
    values = run.evaluate("train")
    assert run.rounds < 40
    assert np.average(values["accuracy"], weights=values["samples"]) >= 0.8


def test_what_is_never_reached_does_not_stop():
    assert train(5, stop_at="test_loss:0").rounds == 5


def test_a_resumed_run_stops_at_the_same_round_and_a_finished_one_stays(tmp_path):
    whole = train(stop_at="test_accuracy:0.8")
    train(2, out=tmp_path / "run", checkpoint_every=1)
    again = train(out=tmp_path / "run", resume=True, stop_at="test_accuracy:0.8")
    assert again.rounds == whole.rounds
    more = train(out=tmp_path / "run", resume=True, stop_at="test_accuracy:0.8")
    assert more.rounds == whole.rounds
    with RunFolder.open(tmp_path / "run") as folder:
        assert folder.finished


@pytest.mark.parametrize(
    "words",
    ["accuracy:0.9", "test_accuracy", "test_accuracy:x", "test_accuracy:1,2,3", "test_accuracy:1,2.5"],
)
def test_words_that_are_no_rule_are_refused(words):
    with pytest.raises(ConfigError, match="stop_at"):
        StopRule.of(words)


def test_metrics_that_nobody_measures_are_refused():
    with pytest.raises(ConfigError, match="test_accuracy"):
        train(stop_at="test_beauty:1")
