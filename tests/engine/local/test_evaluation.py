"""Are metrics the plain means over each client's own rows, by whatever road they are computed?"""

from dataclasses import dataclass

import jax
import numpy as np
import pytest

from unalike.algorithms import FedAvg, FedAvgPlus, Local, LocalWork, Messages
from unalike.core.pytrees import largest_difference
from unalike.data import Selection, Stream
from unalike.engine import DebugEngine, LocalEngine, Memories, Setting

from .. import toys

TRAIN = [3, 6, 2, 4, 5]
TEST = [2, 0, 300, 1, 7]


@dataclass(frozen=True, kw_only=True)
class Personal(FedAvg):
    """FedAvg that pretends that predictors differ."""

    personalized = True


@pytest.fixture(scope="module")
def federation():
    return toys.federation(TRAIN, TEST)


@pytest.fixture(scope="module")
def task():
    return toys.logistic_task()


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(5)
    return {"w": rng.normal(size=(3, 3)).astype(np.float32), "b": rng.normal(size=3).astype(np.float32)}


def naive(model, split):
    """Mean loss and accuracy of each client, one row at a time."""
    answer = {"samples": [], "loss": [], "accuracy": []}
    for client in range(len(split.sizes)):
        x, y = split.client(client)
        logits = x.astype(np.float64) @ model["w"].T + model["b"]
        chances = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        empty = len(y) == 0
        answer["samples"].append(len(y))
        answer["loss"].append(np.nan if empty else -np.log(chances[np.arange(len(y)), y]).mean())
        answer["accuracy"].append(np.nan if empty else (logits.argmax(1) == y).mean())
    return {name: np.array(values, float) for name, values in answer.items()}


def same(one, two, tolerance=1e-5):
    assert set(one) == set(two)
    for name in one:
        assert np.allclose(one[name], two[name], atol=tolerance, equal_nan=True), name
    return True


def evaluate(
    federation, task, algorithm, model, split="test", clients=None, devices=None, engine=LocalEngine
):
    setting = Setting(federation, task, algorithm, 0, None, devices)
    return engine(setting).evaluate(Messages(model), Memories({}, len(federation)), split, 0, clients)


def test_the_flat_pass_equals_a_loop_over_clients(federation, task, model):
    found = evaluate(federation, task, FedAvg(), model)
    assert same(found, naive(model, federation.test))
    assert np.isnan(found["loss"][1])
    assert np.isnan(found["accuracy"][1])


def test_visiting_every_client_equals_the_flat_pass(federation, task, model):
    found = evaluate(federation, task, Personal(), model)
    assert same(found, naive(model, federation.test))


def test_the_debug_engine_measures_the_same(federation, task, model):
    small = federation.subset([0, 1, 3])
    assert same(evaluate(small, task, FedAvg(), model, engine=DebugEngine), naive(model, small.test))


@pytest.mark.parametrize("algorithm", [FedAvg(), Personal()], ids=["flat", "visits"])
def test_any_clients_may_be_asked_for_in_any_order(federation, task, model, algorithm):
    chosen = np.array([4, 1, 0])
    found = evaluate(federation, task, algorithm, model, clients=chosen)
    assert same(found, {name: values[chosen] for name, values in naive(model, federation.test).items()})


def test_asking_twice_gives_the_clients_asked_for_the_second_time(federation, task, model):
    engine = LocalEngine(Setting(federation, task, FedAvg(), 0))
    expected, chosen = naive(model, federation.test), np.array([0, 3])
    for clients in ([0, 3], [4, 0], [3, 4]):
        chosen[:] = clients
        found = engine.evaluate(Messages(model), Memories({}, 5), "test", 0, chosen)
        assert same(found, {name: values[clients] for name, values in expected.items()})


@pytest.mark.parametrize("algorithm", [FedAvg(), Personal()], ids=["flat", "visits"])
def test_one_device_gives_what_all_devices_give(federation, task, model, algorithm):
    if jax.device_count() < 2:
        pytest.skip("needs two devices")
    one = evaluate(federation, task, algorithm, model, devices=1)
    assert same(one, evaluate(federation, task, algorithm, model, devices=2), 1e-6)


@pytest.mark.parametrize("algorithm", [FedAvg(), Personal()], ids=["flat", "visits"])
def test_a_split_without_any_rows_is_nothing_but_nan(federation, task, model, algorithm):
    found = evaluate(federation, task, algorithm, model, split="validation")
    assert found["samples"].tolist() == [0] * 5
    assert np.isnan(found["loss"]).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("algorithm", [FedAvg(), Personal()], ids=["flat", "visits"])
def test_one_clients_infinite_loss_stays_its_own(task, model, algorithm):
    federation = toys.federation(TRAIN, [2, 3, 1, 4, 2])
    federation.test.x[0] = 3e38
    found = evaluate(federation, task, algorithm, model)
    expected = naive(model, federation.test)
    assert not np.isfinite(found["loss"][0])
    assert np.allclose(found["loss"][1:], expected["loss"][1:], atol=1e-5)


def test_the_training_loss_of_every_client_can_be_asked_for_too(federation, task, model):
    assert same(evaluate(federation, task, FedAvg(), model, split="train"), naive(model, federation.train))


def test_clients_that_train_alone_are_judged_by_their_own_models(federation, task, model):
    setting = Setting(federation, task, Local(), 0)
    memories = Memories({"params": jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), model)}, 5)
    other = jax.tree.map(lambda leaf: -leaf, model)
    memories.scatter(np.array([2]), {"params": jax.tree.map(lambda leaf: leaf[None], other)})
    found = LocalEngine(setting).evaluate(Messages(model), memories, "test", 0)
    fresh, own = naive(model, federation.test), naive(other, federation.test)
    assert found["loss"][2] == pytest.approx(own["loss"][2], abs=1e-5)
    # Whoever has not trained yet predicts with what the server would tell it.
    assert np.allclose(found["loss"][[0, 3, 4]], fresh["loss"][[0, 3, 4]], atol=1e-5)


class LastRows(Stream):
    """A stream: in round r every client holds only its last rows, with weights of two."""

    def __init__(self, split):
        self.split = split

    def select(self, round, clients):
        rows = [np.arange(self.split.offsets[c + 1] - 1, self.split.offsets[c + 1]) for c in clients]
        return Selection(
            np.concatenate(rows), np.arange(len(clients) + 1), np.full(len(clients), 2.0, np.float32)
        )


def test_a_predictor_that_trains_sees_the_streams_rows_on_every_engine(federation, task, model):
    algorithm = FedAvgPlus(work=LocalWork(epochs=1, batch_size=4))
    setting = Setting(federation, task, algorithm, 0, LastRows(federation.train))
    chosen = np.array([0, 3, 4])
    answers = [
        engine(setting).evaluate(Messages(model), Memories({}, 5), "test", 2, chosen)
        for engine in (LocalEngine, DebugEngine)
    ]
    assert same(*answers)


def test_training_on_a_stream_is_the_same_on_every_engine(federation, task):
    algorithm = FedAvg(work=LocalWork(steps=2, batch_size=4))
    setting = Setting(federation, task, algorithm, 0, LastRows(federation.train))
    answers = []
    for engine in (LocalEngine, DebugEngine):
        state, memories, _ = toys.start(setting)
        steps = [toys.step(0, [1, 4, 2], [0.5, 0.3, 0.2])]
        answers.append(toys.advance(engine(setting), setting, steps, state, memories)[0][-1]["params"])
    assert largest_difference(*answers) < 1e-5
