"""What becomes of clients with one row, one class, or no labeled row at all?"""

import numpy as np
import pytest

from unalike import Federation
from unalike.algorithms import algorithm_registry
from unalike.data.federation import Split
from unalike.models import Task, linear, mlp
from unalike.training.newcomers import evaluate_newcomers

from . import naive


def split(sizes):
    rng = np.random.default_rng(len(sizes))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    labels = rng.integers(0, 3, offsets[-1]).astype(np.int32)
    labels[: offsets[2]] = 0  # the first two clients have one class
    return Split(rng.normal(size=(offsets[-1], 4)).astype(np.float32), labels, offsets)


def clients(*sizes):
    return Federation(split(sizes), split([0] * len(sizes)), split([3] * len(sizes)), 3)


@pytest.mark.parametrize("name", ["fedem", "knnper", "ditto", "fedrep", "ifca", "mocha"])
def test_everyone_gets_a_finite_prediction(name):
    model = linear if name == "mocha" else lambda **shape: mlp(3, **shape)
    task = Task.classification(model(input_shape=(4,), outputs=3), 3)
    run = naive.train(clients(1, 5, 7, 4), task, algorithm_registry.make(name), 2)
    assert np.isfinite(run.evaluate("test")["loss"]).all()
    assert np.nansum(run.metrics()["rejected"]) == 0
    joined = evaluate_newcomers(run, clients(0, 1, 3, 0))
    assert np.isfinite(joined["loss"]).all()
