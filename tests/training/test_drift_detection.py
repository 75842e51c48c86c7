"""Is a drift noticed when it comes, and not when a model merely learns?"""

import numpy as np
import pytest

from unalike import FedAvg, LocalWork, MemoryStream, Optimizer, Task, train
from unalike.data import load
from unalike.data.streams import Stream
from unalike.errors import ConfigError
from unalike.models import linear
from unalike.models.metrics import metrics_for
from unalike.runs import Record, RunFolder
from unalike.training.drift_detection import DELAY, DETECTED, EVENT, DriftDetection

pytest.importorskip("river")
DETECTORS = ("adwin", "page-hinkley", "kswin")


class Turning(Stream):
    """A stream in whose round 15 the world changes."""

    def __init__(self, detector):
        self.detector = detector

    def drift_begins(self, round):
        return [15] if round >= 15 else []


def errors_of(accuracies, detector, clients=10):
    """What is noticed of clients whose accuracy is so high after each round, with some noise."""
    rng = np.random.default_rng(0)
    detection = DriftDetection(Turning(detector), Record(":memory:"), metrics_for(10))
    seen = {}
    for round, accuracy in enumerate(accuracies):
        scores = np.clip(accuracy + 0.05 * rng.standard_normal(clients), 0, 1)
        columns, events = detection.look(round, {"prequential_accuracy": scores})
        if columns:
            seen[round] = (columns, events)
    return seen


@pytest.mark.parametrize("detector", DETECTORS)
def test_a_drop_is_noticed_soon_and_its_delay_is_counted_from_the_drift(detector):
    seen = errors_of([0.8] * 15 + [0.1] * 15, detector)
    first = min(seen)
    assert 15 <= first <= 20
    columns, events = seen[first]
    assert columns == {DETECTED: 1.0, DELAY: first - 15}
    assert events[0]["kind"] == EVENT
    assert not events[0]["false_alarm"]


@pytest.mark.parametrize("detector", DETECTORS)
def test_learning_is_no_drift(detector):
    assert not errors_of(np.linspace(0.1, 0.9, 40), detector)


def test_a_drop_before_the_drift_is_a_false_alarm_without_a_delay():
    (columns, (event,)) = errors_of([0.8] * 8 + [0.1] * 4, "adwin").popitem()[1]
    assert columns == {DETECTED: 1.0}
    assert event["false_alarm"] == 1


def test_nothing_is_watched_unless_asked_for():
    assert not errors_of([0.9] * 15 + [0.0] * 15, None)


def test_a_detector_sees_the_loss_where_there_is_no_other_score():
    detection = DriftDetection(Turning("adwin"), Record(":memory:"), {})
    found = [detection.look(r, {"prequential_loss": np.full(10, 1.0 + 9 * (r >= 15))})[0] for r in range(25)]
    assert any(DETECTED in columns for columns in found[15:])
    assert not any(found[:15])


def test_a_resumed_run_notices_what_an_uninterrupted_one_does(tmp_path):
    federation = load("digits", clients=10, seed=0)
    task = Task.classification(linear(input_shape=(64,), outputs=10), 10)
    method = FedAvg(work=LocalWork(epochs=1, batch_size=8), optimizer=Optimizer("sgd", 0.3))

    def stream():
        return MemoryStream("constant:4", 20, drift="abrupt:12,label-swap", detector="page-hinkley")

    whole = train(federation, task, method, rounds=24, evaluate_every=1, stream=stream())
    noticed = [event for event in whole.record.events() if event["kind"] == EVENT]
    assert noticed[0]["round"] >= 12
    stop = noticed[0]["round"] - 1
    train(federation, task, method, rounds=stop, evaluate_every=1, stream=stream(), out=tmp_path / "run")
    later = train(
        federation,
        task,
        method,
        rounds=24,
        evaluate_every=1,
        stream=stream(),
        out=RunFolder.open(tmp_path / "run"),
        resume=True,
    )
    assert [event for event in later.record.events() if event["kind"] == EVENT] == noticed


@pytest.mark.parametrize("words", ["adwin:0", "adwin:2", "kswin:0.1,3", "page-hinkley:-1", "ddm"])
def test_a_detector_that_cannot_be_is_refused_before_training(words):
    with pytest.raises(ConfigError):
        MemoryStream("constant:4", detector=words)
