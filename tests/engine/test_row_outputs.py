"""Are outputs of single rows those of the predictor of the client that owns them?"""

import numpy as np
import pytest

from unalike import FedAvg, Federation, Task, models, train
from unalike.algorithms import Local, LocalWork
from unalike.core import pytrees
from unalike.engine.row_outputs import BLOCK, model_outputs, row_outputs


@pytest.fixture(scope="module")
def federation():
    rng = np.random.default_rng(0)
    rows = BLOCK + 100
    x, y = rng.normal(size=(rows, 4)).astype(np.float32), rng.integers(0, 3, rows)
    return Federation.from_owners(x, y, np.arange(rows) % 3)


@pytest.fixture(scope="module")
def task():
    return Task.classification(models.linear(input_shape=(4,), outputs=3), classes=3)


def outputs(run, x, owners):
    return row_outputs(run.setting, run.messages, run.memories, x, owners, run.rounds)


def test_a_shared_model_says_the_same_whoever_owns_a_row(federation, task):
    run = train(federation, task, FedAvg(), rounds=2)
    x, owners = federation.train.x, federation.train.owners.astype(np.int64)
    expected = np.asarray(task.apply(run.message, x))
    np.testing.assert_allclose(outputs(run, x, owners), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(outputs(run, x, owners[::-1]), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model_outputs(task, run.message, x), expected, rtol=1e-5, atol=1e-6)


def test_models_of_their_own_are_asked_for_their_own_rows(federation, task):
    run = train(federation, task, Local(work=LocalWork(epochs=2)), rounds=2)
    x, owners = federation.train.x[:50], np.arange(50) % 3
    found, own = outputs(run, x, owners), run.memories.gather(np.arange(3))[0]["params"]
    for row in range(50):
        params = pytrees.row(own, owners[row])
        np.testing.assert_allclose(found[row], task.apply(params, x[row : row + 1])[0], rtol=1e-4, atol=1e-5)


def test_no_rows_have_no_outputs(federation, task):
    run = train(federation, task, FedAvg(), rounds=1)
    assert len(outputs(run, federation.train.x[:0], np.zeros(0, np.int64))) == 0
