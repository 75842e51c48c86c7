"""Is forgetting what was known best, less what is known now, of each earlier concept?"""

from dataclasses import replace

import numpy as np
import pytest

import unalike
from unalike import FedAvg, LocalWork, MemoryStream, Optimizer
from unalike.data.federation import Split
from unalike.models import linear

WORK = {"work": LocalWork(steps=3, batch_size=8), "optimizer": Optimizer("sgd", 0.3)}


@pytest.fixture(scope="module")
def federation():
    return unalike.load("digits", clients=4, samples=500, seed=1)


@pytest.fixture(scope="module")
def task():
    return unalike.Task.classification(linear(input_shape=(8, 8, 1), outputs=10), classes=10)


def train(federation, task, drift, rounds=9, arrivals="constant:9", **options):
    options = {"seed": 1, "evaluate_every": 1, "keep_history": True, **options}
    stream = MemoryStream(arrivals, "replace", drift=drift)
    return unalike.train(federation, task, FedAvg(**WORK), rounds=rounds, stream=stream, **options)


def scores(run, federation, concept, name, rounds):
    """The score of every version on test rows of a concept, by an evaluation of each."""
    test = federation.test
    y = test.y ^ 1 if concept else test.y
    found = []
    for round in range(rounds + 1):
        messages = run.setting.algorithm.messages(run.setting.task, run.history.state(round))
        part = Split(test.x, y, test.offsets)
        values = run.engine.evaluate_rows(messages, run.memories, part, round, np.arange(len(federation)))
        found.append(np.average(values[name], weights=values["samples"]))
    return np.array(found)


@pytest.mark.parametrize(
    ("drift", "earlier"),
    [
        ("abrupt:4,label-swap", {r: [0] for r in range(5, 10)}),
        ("gradual:3,4,label-swap", {r: [0] for r in range(4, 10)}),
        ("recurring:3,label-swap", {**{r: [0] for r in range(4, 7)}, **{r: [0, 1] for r in range(7, 10)}}),
    ],
)
def test_by_the_definition(federation, task, drift, earlier):
    run = train(federation, task, drift)
    known = {c: scores(run, federation, c, "accuracy", 9) for c in (0, 1)}
    recorded = run.metrics()["forgetting"]
    begins = {0: 0, 1: min(earlier)}  # a concept has a score from when it is first seen
    for round in range(10):
        if round not in earlier:
            assert np.isnan(recorded[round])
            continue
        each = [known[c][begins[c] : round].max() - known[c][round] for c in earlier[round]]
        assert recorded[round] == pytest.approx(np.mean(each), abs=1e-6)


def test_swapped_labels_make_a_model_forget_and_rows_that_come_back_remember(federation, task):
    metrics = train(federation, task, "recurring:4,label-swap", 11).metrics()
    assert metrics["forgetting"][8] > 0.3
    assert metrics["concept_0_accuracy"][11] > metrics["concept_0_accuracy"][8]
    assert metrics["test_accuracy"][11] == metrics["concept_0_accuracy"][11]


def test_where_lower_is_better_forgetting_is_what_was_added():
    federation = unalike.load("quadratic:4,1,30,2", clients=3, seed=2)
    federation = federation.with_split(0.3)
    task = unalike.Task.regression(linear(0, input_shape=(4,), outputs=1))
    metrics = train(federation, task, "abrupt:2,feature-rotation", 4, "spread:4").metrics()
    first = np.concatenate([metrics["test_rmse"][:3], metrics["concept_0_rmse"][3:]])
    np.testing.assert_allclose(
        metrics["forgetting"][3:], [first[r] - first[:r].min() for r in (3, 4)], atol=1e-6
    )


def test_nothing_is_forgotten_without_a_drift_or_a_hold_out(federation, task):
    assert "forgetting" not in train(federation, task, None, 2).metrics()
    nobody = Split(federation.test.x[:0], federation.test.y[:0], np.zeros_like(federation.test.offsets))
    run = train(replace(federation, test=nobody), task, "abrupt:1,label-swap", 3)
    assert "forgetting" not in run.metrics()
