"""Does the debug engine give the local engine's answers, and name the client when something breaks?"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import unalike
from unalike.algorithms import Algorithm, FedAvg, LocalWork, Optimizer, Reply, Scaffold
from unalike.core.pytrees import largest_difference
from unalike.engine import ClientError, DebugEngine, LocalEngine, Memories, Setting
from unalike.errors import UnalikeError

from . import toys

SIZES = [3, 5, 2]
WORK = LocalWork(epochs=1, batch_size=2)


@pytest.fixture(scope="module")
def federation():
    made = toys.federation(SIZES, [1, 1, 1])
    return replace(made, names=("ann", "ben", "cat"))


def test_the_debug_engine_gives_the_local_engines_answer(federation):
    algorithm = Scaffold(work=WORK, server_optimizer=Optimizer("sgd", 0.5))
    setting = Setting(federation, toys.logistic_task(), algorithm, 4)
    steps = [toys.step(0, [0, 1, 2], [0.3, 0.5, 0.2]), toys.step(1, [2, 0, 1], [0.6, 0.3, 0.1])]
    answers = []
    for make in (LocalEngine, DebugEngine):
        state, memories, _ = toys.start(setting)
        states, reports = toys.advance(make(setting), setting, steps, state, memories)
        answers.append((states[-1], reports[-1], memories.gather(np.arange(3))[0]))
    for one, two in zip(*answers, strict=True):
        assert largest_difference(one, two) < 1e-5


@dataclass(frozen=True, kw_only=True)
class Misbehaving(Algorithm):
    """The client whose first feature is 7 does something else in round 1, in plain Python."""

    work: LocalWork = WORK
    kind: str = "raise"

    def client(self, task, message, memory, data, key):
        rows = data.all_rows()
        upload = jax.tree.map(lambda leaf: leaf + 1.0, message)
        traced = isinstance(rows.x, jax.core.Tracer)
        if not traced and float(rows.x[0, 0]) == 7.0 and int(data.round) == 1:
            upload = self.misbehave(upload)
        return Reply(upload, {}, {"first": rows.x[0, 0]})

    def misbehave(self, upload):
        if self.kind == "raise":
            raise ValueError("the sensor is unplugged")
        bad = {
            "shape": {**upload, "b": jnp.zeros(4)},
            "structure": {"w": upload["w"]},
            "dtype": {**upload, "b": upload["b"].astype(jnp.int32)},
            "nan": {**upload, "b": jnp.full(3, jnp.nan)},
        }
        return bad[self.kind]

    def aggregate(self, task, state, mixed):
        return {"params": mixed.total}


def misbehaving(federation, kind, client):
    """An engine over clients of which one misbehaves, and where it starts from."""
    train = replace(federation.train, x=federation.train.x.copy())
    train.x[train.offsets[client]] = 7.0
    setting = Setting(replace(federation, train=train), toys.logistic_task(), Misbehaving(kind=kind), 0)
    return DebugEngine(setting), setting, setting.algorithm.init(setting.task, None)


def test_an_error_in_a_clients_code_names_the_round_and_the_client(federation):
    engine, setting, state = misbehaving(federation, "raise", 1)
    everyone = [toys.step(number, [0, 1, 2], [0.3, 0.5, 0.2]) for number in (0, 1)]
    with pytest.raises(
        ClientError, match=r"round 1, client ben: ValueError: the sensor is unplugged"
    ) as caught:
        toys.advance(engine, setting, everyone, state, Memories({}, 3))
    assert isinstance(caught.value.__cause__, ValueError)
    assert isinstance(caught.value, UnalikeError)


@pytest.mark.parametrize("kind", ["shape", "structure", "dtype", "nan"])
def test_one_clients_malformed_upload_is_left_out_with_a_warning_and_training_goes_on(federation, kind):
    engine, setting, state = misbehaving(federation, kind, 1)
    steps = [toys.step(number, [0, 1, 2], [0.3, 0.5, 0.2]) for number in range(3)]
    with pytest.warns(UserWarning, match="round 1, client ben: upload .*; left out"):
        states, reports = toys.advance(engine, setting, steps, state, Memories({}, 3))
    assert [report["accepted"].tolist() for report in reports] == [[1, 1, 1], [1, 0, 1], [1, 1, 1]]
    assert np.allclose(states[-1]["params"]["w"], 3.0, atol=1e-6)


def test_a_malformed_upload_is_the_one_left_out_also_when_it_comes_first(federation):
    engine, setting, state = misbehaving(federation, "shape", 0)
    first = toys.step(1, [0, 1, 2], [0.3, 0.5, 0.2], [0, 0, 0])
    with pytest.warns(UserWarning, match="client ann: upload .* has shape"):
        states, (report,) = toys.advance(engine, setting, [first], state, Memories({}, 3))
    assert report["accepted"].tolist() == [0, 1, 1]
    assert np.allclose(states[-1]["params"]["w"], 1.0, atol=1e-6)


def test_a_whole_run_is_the_same_in_both_engines(federation):
    task = toys.logistic_task()
    runs = [
        unalike.train(federation, task, FedAvg(work=WORK), rounds=2, per_round=2, seed=3, engine=engine)
        for engine in ("local", "debug")
    ]
    assert largest_difference(runs[0].state["params"], runs[1].state["params"]) < 1e-5
    for name, column in runs[0].metrics().items():
        if name != "seconds":
            assert np.allclose(column, runs[1].metrics()[name], atol=1e-5, equal_nan=True), name
