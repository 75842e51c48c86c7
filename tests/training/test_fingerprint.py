"""Does a resumed run go on with exactly what it was begun with, and does it refuse anything else by name?"""

import json
from dataclasses import replace

import numpy as np
import pytest

import unalike
from unalike import FedAvg, Federation, Optimizer, RunError, Task
from unalike.algorithms import Ditto
from unalike.data import MemoryStream
from unalike.runs import RunFolder
from unalike.timing import FedFix
from unalike.training.fingerprint import KEY

ROWS = np.random.default_rng(0).normal(size=(4, 12, 3))


def clients(names="abcd", change=lambda x, y: (x, y), **how):
    rows = {name: change(x, (x[:, 0] > 0).astype(int)) for name, x in zip(names, ROWS, strict=True)}
    return Federation.from_clients(rows, classes=2, **how)


FEDERATION = clients()
TASK = Task.of(FEDERATION, "linear")


def train(out, federation=FEDERATION, method=None, task=TASK, rounds=2, **how):
    run = unalike.train(
        federation, task, method or Ditto(), rounds=rounds, out=out, engine="debug", evaluate_every=0, **how
    )
    rounds = run.rounds
    run.folder.close()
    return rounds


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A run of two rounds."""
    out = tmp_path_factory.mktemp("runs") / "begun"
    train(out)
    return out


def files(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.*") if "sqlite" not in path.name}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"federation": clients("bcda")}, "client names are not"),
        ({"federation": clients(change=lambda x, y: (x[:9], y[:9]))}, "training rows are not"),
        ({"federation": clients(change=lambda x, y: (x, 1 - y))}, "training rows are not"),
        ({"federation": clients(change=lambda x, y: (x + 1e-6, y))}, "training rows are not"),
        ({"federation": clients(seed=5)}, "training rows are not"),
        ({"federation": replace(FEDERATION, test=clients(seed=5).test)}, "test rows are not"),
        ({"federation": FEDERATION.with_importance([0.4, 0.3, 0.2, 0.1])}, "client weights"),
        ({"seed": 9}, "seed was 0 and is 9"),
        ({"method": Ditto(lam=0.5)}, "method.lam was"),
        ({"method": Ditto(optimizer=Optimizer("sgd", 5.0))}, "learning_rate was 0.1 and is 5.0"),
        ({"method": FedAvg()}, "method was"),
        ({"task": Task.of(FEDERATION, "linear", l2=0.1)}, "task.l2 was 0.0 and is 0.1"),
        ({"per_round": 2}, "participation was"),
        ({"timing": FedFix(0.5)}, "timing was"),
        ({"stream": MemoryStream("constant:2")}, "stream"),
    ],
)
def test_another_training_is_refused_by_name_and_nothing_is_lost(begun, changed, words):
    before = files(begun)
    with pytest.raises(RunError, match=words):
        train(begun, rounds=4, resume=True, **changed)
    assert files(begun) == before


def test_the_same_training_made_anew_goes_on(begun):
    assert train(begun, clients(), Ditto(), Task.of(FEDERATION, "linear"), rounds=3, resume=True) == 3


def test_a_run_without_a_fingerprint_goes_on_and_has_one_then(tmp_path):
    train(tmp_path / "old")
    with RunFolder.open(tmp_path / "old") as folder:
        folder.record.set_meta(KEY, json.dumps({}))
    assert train(tmp_path / "old", rounds=3, resume=True) == 3
    with pytest.raises(RunError, match="seed was 0 and is 1"):
        train(tmp_path / "old", rounds=4, resume=True, seed=1)
