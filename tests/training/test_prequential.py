"""Are rows predicted before they are learned, with the model of that moment?"""

import numpy as np
import pytest

import unalike
from unalike import FedAvg, LocalWork, MemoryStream, Optimizer
from unalike.algorithms import Ditto, KNNPer
from unalike.data.streams import Selection
from unalike.models import linear, mlp
from unalike.training.prequential import NOT_PREDICTED

WORK = {"work": LocalWork(steps=2, batch_size=8), "optimizer": Optimizer("sgd", 0.1)}


@pytest.fixture(scope="module")
def federation():
    return unalike.load("digits", clients=5, partition="dirichlet:0.5", samples=300, seed=1)


@pytest.fixture(scope="module")
def task():
    return unalike.Task.classification(linear(input_shape=(8, 8, 1), outputs=10), classes=10)


def train(federation, task, stream, rounds=5, algorithm=None, **options):
    options = {"seed": 1, "evaluate_every": 1, "stream": stream, **options}
    return unalike.train(federation, task, algorithm or FedAvg(**WORK), rounds=rounds, **options)


def predicted(params, x, y):
    """Cross-entropies and hits of a linear model, row by row."""
    logits = x.reshape(len(x), -1) @ np.asarray(params["w"]).T + np.asarray(params["b"])
    largest = logits.max(1, keepdims=True)
    normal = largest[:, 0] + np.log(np.exp(logits - largest).sum(1))
    return normal - logits[np.arange(len(y)), y], logits.argmax(1) == y


def newest(stream, federation, round, client):
    """The rows that a memory without bounds has in a round, and had not in the round before."""
    now, before = (
        set(stream.select(r, np.array([client])).rows.tolist()) if r >= 0 else set()
        for r in (round, round - 1)
    )
    rows = sorted(now - before)
    x = np.asarray(federation.train.x[rows], np.float64)
    return x / 255 if federation.train.x.dtype == np.uint8 else x, federation.train.y[rows]


@pytest.mark.parametrize(
    ("memory", "engine", "rounds"),
    [(None, "local", 3), ("replace", "local", 3), ("reservoir:4", "local", 3), ("reservoir:4", "debug", 1)],
)
def test_the_next_rounds_rows_are_predicted_by_hand(federation, task, engine, memory, rounds):
    run = train(federation, task, MemoryStream("poisson:3", memory), rounds, engine=engine, keep_history=True)
    everything = MemoryStream("poisson:3")
    everything.begin(federation, 1)
    for round in range(rounds + 1):
        params = run.history.state(round)["params"]
        judged = [
            predicted(params, *newest(everything, federation, round, c)) for c in range(len(federation))
        ]
        losses, hits = (np.concatenate(parts) for parts in zip(*judged, strict=True))
        assert run.metrics()["prequential_loss"][round] == pytest.approx(losses.mean(), abs=1e-4)
        assert run.metrics()["prequential_accuracy"][round] == pytest.approx(hits.mean(), abs=1e-6)
        clients = run.client_metrics(round)
        assert clients["prequential_samples"].tolist() == [len(loss) for loss, _ in judged]
        np.testing.assert_allclose(
            clients["prequential_loss"],
            [loss.mean() if len(loss) else np.nan for loss, _ in judged],
            atol=1e-4,
        )


def test_it_is_measured_when_the_run_is_evaluated_and_only_with_a_stream(federation, task):
    run = train(federation, task, MemoryStream("constant:3"), 5, evaluate_every=2)
    seen = np.isfinite(run.metrics()["prequential_accuracy"])
    assert np.flatnonzero(seen).tolist() == [0, 2, 4, 5]
    assert not any(name.startswith("prequential") for name in train(federation, task, None, 2).metrics())


def test_rounds_in_which_nothing_arrives_measure_nothing(federation, task):
    run = train(federation, task, MemoryStream("historical"), 2)
    assert np.isfinite(run.metrics()["prequential_loss"]).tolist() == [True, False, False]
    assert "prequential_loss" not in run.client_metrics(2)


def test_evaluation_does_not_change_what_is_learned(federation, task):
    often, once = (
        train(federation, task, MemoryStream("poisson:3", "reservoir:9"), evaluate_every=every)
        for every in (1, 0)
    )
    np.testing.assert_array_equal(often.state["params"]["w"], once.state["params"]["w"])


def test_a_neighbor_that_is_yet_to_come_is_no_neighbor(federation):
    """Nearest neighbors know every label that they hold; of rows to come they must not hold any."""
    task = unalike.Task.classification(mlp(16, input_shape=(8, 8, 1), outputs=10), classes=10)
    run = train(federation, task, MemoryStream("constant:4"), 3, KNNPer(**WORK, k=1, choose=1.0))
    accuracy = run.metrics()["prequential_accuracy"]
    assert np.isnan(accuracy[0])
    assert np.isfinite(accuracy[1:]).all()
    assert (accuracy[1:] < 1).all()


@pytest.mark.parametrize("engine", ["local", "debug"])
def test_clients_with_models_of_their_own_predict_with_these(federation, task, engine):
    two = federation.subset([0, 1])
    run = train(two, task, MemoryStream("constant:4"), 1, Ditto(**WORK), engine=engine)
    assert np.isfinite(run.metrics()["prequential_loss"]).tolist() == [False, True]


def test_an_engine_that_cannot_says_so_once(federation, task, monkeypatch):
    from unalike.engine import LocalEngine

    monkeypatch.setattr(LocalEngine, "evaluate_rows", lambda *_: None)
    run = train(federation, task, MemoryStream("constant:4"), 3)
    assert [event["round"] for event in run.events() if event["kind"] == NOT_PREDICTED] == [0]
    assert "prequential_loss" not in run.metrics()


def test_chosen_rows_belong_to_whom_they_belonged(federation):
    stream = MemoryStream("poisson:3")
    stream.begin(federation, 1)
    some = np.array([1, 3])
    found = stream.arriving(2, some)
    part = found.only(federation.train, some)
    assert isinstance(found, Selection)
    assert part.sizes[[0, 2, 4]].tolist() == [0, 0, 0]
    for place, client in enumerate(some):
        rows = found.rows[found.offsets[place] : found.offsets[place + 1]]
        assert (federation.train.owners[rows] == client).all()
        np.testing.assert_array_equal(part.client(int(client))[1], federation.train.y[rows])
