"""Does training follow a stream, with every sampler, timing and engine, and after a crash?"""

import numpy as np
import pytest

import unalike
from unalike import ConfigError, FedAvg, LocalWork, MemoryStream, Optimizer, Scaffold, models
from unalike.core import pytrees
from unalike.core.pytrees import largest_difference
from unalike.data.streams import GivenImportance
from unalike.models import linear
from unalike.participation import Intermittent, Markov
from unalike.timing import Asynchronous, WaitForAll

WORK = {"work": LocalWork(steps=2, batch_size=8), "optimizer": Optimizer("sgd", 0.1)}
MOVING = ("poisson:2,0.25", "reservoir:9", "fixed:0.4")


@pytest.fixture(scope="module")
def federation():
    return unalike.load("digits", clients=8, partition="dirichlet:0.5", samples=400, seed=1)


@pytest.fixture(scope="module")
def task():
    return unalike.Task.classification(models.linear(input_shape=(8, 8, 1), outputs=10), classes=10)


def train(federation, task, stream, rounds=6, algorithm=None, **options):
    options = {"seed": 1, "evaluate_every": 0, **options}
    return unalike.train(
        federation, task, algorithm or FedAvg(**WORK), rounds=rounds, stream=stream, **options
    )


# The same as without a stream -----------------------------------------------------------------------------


@pytest.mark.exact
@pytest.mark.parametrize(
    "memory", [None, "fifo:10000", "reservoir:10000", "balanced:10000", "freeze", "window:99"]
)
@pytest.mark.parametrize("options", [{}, {"per_round": 3}, {"algorithm": Scaffold(**WORK)}])
def test_with_room_for_everything_that_is_there_a_stream_changes_no_bit(federation, task, memory, options):
    without = train(federation, task, None, **options)
    streamed = train(federation, task, MemoryStream("historical", memory), **options)
    assert largest_difference(without.state, streamed.state) == 0


def test_asynchronous_training_too(federation, task):
    options = {"timing": Asynchronous(hardware="spread:20"), "rounds": 12}
    without = train(federation, task, None, **options)
    streamed = train(federation, task, MemoryStream("historical"), **options)
    assert largest_difference(without.state, streamed.state) < 1e-6


# By hand --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["local", "debug"])
def test_one_step_of_descent_on_each_rounds_memory_by_hand(engine):
    federation = unalike.load("quadratic:3,1,12,2", clients=4, seed=2)
    task = unalike.Task.regression(linear(0, input_shape=(3,), outputs=1))
    algorithm = FedAvg(work=LocalWork(steps=1, batch_size=0), optimizer=Optimizer("sgd", 0.05))
    stream = MemoryStream("constant:2,1", "fifo:3", "fixed:0.4", ordered=True)
    run = train(federation, task, stream, 5, algorithm, engine=engine)
    theta, sizes = np.zeros(3), federation.train.sizes
    fresh = np.minimum(sizes[1:], 10)
    p = np.array([0.4, *(0.6 * fresh / fresh.sum())])
    lasts = [np.minimum(2 * (round + 1), sizes) for round in range(5)]
    held = [[(0, sizes[0]), *((max(n - 3, 0), n) for n in last[1:])] for last in lasts]
    tau = [np.zeros(n) for n in sizes]  # rounds in which each row is in memory
    for spans in held:
        for own, (a, b) in zip(tau, spans, strict=True):
            own[a:b] += 1
    for spans in held:
        weights = [
            share / np.count_nonzero(own) / own[a:b] for share, own, (a, b) in zip(p, tau, spans, strict=True)
        ]
        change, whole = 0, sum(own.sum() for own in weights)
        for i, (a, b) in enumerate(spans):
            x, y = (part[a:b] for part in federation.train.client(i))
            change = change - 0.05 * (weights[i] / whole * (x @ theta - y)) @ x
        theta = theta + change
    np.testing.assert_allclose(np.asarray(run.state["params"]["w"])[0], theta, atol=1e-5)


# Engines, samplers, timings -------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", [FedAvg(**WORK), Scaffold(**WORK)], ids=["fedavg", "scaffold"])
def test_the_debug_engine_gives_the_same_model(federation, task, algorithm):
    runs = [
        train(federation, task, MemoryStream(*MOVING), 2, algorithm, engine=engine)
        for engine in ("local", "debug")
    ]
    assert largest_difference(runs[0].state, runs[1].state) < 1e-5


def test_drawn_clients_hold_rows_and_weigh_what_the_stream_says(federation, task):
    stream = MemoryStream("poisson:0.4", "replace", "memory-size")
    run = train(federation, task, stream, 12, per_round=4)
    for number, used in run.record.groups("used").items():
        assert (stream.importance(number - 1)[used] > 0).all()
    assert (run.metrics()["participants"][1:] <= 4).all()


def rounds_with_clients(run):
    return np.flatnonzero(run.metrics()["participants"] > 0)


@pytest.mark.parametrize(
    "options",
    [
        {"participation": unalike.Uniform(per_round=3)},
        {"participation": Intermittent(Markov(np.full(8, 0.5), np.full(8, 0.7)))},
        {"timing": Asynchronous(hardware="spread:20"), "rounds": 20},
        {"timing": Asynchronous(hardware="spread:20"), "rounds": 20, "per_round": 3},
        {"timing": WaitForAll(hardware="spread:20")},
        {"algorithm": Scaffold(**WORK), "per_round": 3},
        {"algorithm": Scaffold(**WORK), "timing": Asynchronous(hardware="spread:20"), "rounds": 20},
    ],
    ids=lambda options: " ".join(options),
)
def test_a_stream_goes_with_every_sampler_and_timing(federation, task, options):
    run = train(federation, task, MemoryStream("poisson:0.3,0.25", "window:3", "fixed:0.4"), **options)
    assert bool(pytrees.all_finite(run.state))
    metrics = run.metrics()
    assert np.isfinite(metrics["train_loss"][rounds_with_clients(run)]).all()
    assert np.isfinite(metrics["held"][1:]).all()


def test_asynchronous_weights_follow_the_stream(federation, task):
    """Twice the share of a client is twice the weight of its results."""

    def weights(p):
        run = train(
            federation,
            task,
            MemoryStream("historical", None, GivenImportance(p)),
            16,
            timing=Asynchronous(hardware="spread:20"),
        )
        used = run.record.groups("used")
        return run.metrics()["weight_sum"][1:], [int(used[number][0]) for number in range(1, 17)]

    usual, clients = weights(federation.importance)
    equal, same = weights(np.full(8, 1 / 8))
    assert clients == same
    np.testing.assert_allclose(equal / usual, 1 / 8 / federation.importance[clients])


def test_a_round_in_which_nobody_counts_is_an_event_and_changes_nothing(federation, task):
    stream = MemoryStream("constant:0.5", "replace", "memory-size")
    run = train(federation, task, stream, 4, keep_history=True)
    assert [event["round"] for event in run.events() if event["kind"] == "empty round"] == [1, 3]
    assert largest_difference(run.history.state(0), run.history.state(1)) == 0
    assert largest_difference(run.history.state(1), run.history.state(2)) > 0
    assert run.metrics()["arrived"][1:].tolist() == [0, 8, 0, 8]


# After a crash --------------------------------------------------------------------------------------------


@pytest.mark.exact
@pytest.mark.parametrize(
    "words", [MOVING, ("bursts:5,2", "freeze:4", "memory-size"), ("spread:9,2", "window:2", "fresh")]
)
@pytest.mark.parametrize(
    "options", [{"per_round": 3}, {"timing": "asynchronous"}, {"algorithm": Scaffold(**WORK)}]
)
def test_a_resumed_run_has_the_same_bytes(federation, task, tmp_path, words, options):
    def run(folder, **more):
        some = {**options, "timing": Asynchronous(hardware="spread:20")} if "timing" in options else options
        stream = MemoryStream(*words)
        return train(federation, task, stream, 12, out=folder, checkpoint_every=3, **some, **more)

    whole = run(tmp_path / "whole")
    with pytest.raises(ZeroDivisionError):
        run(tmp_path / "cut", observer=lambda report, _: 1 / (8 - report.round))
    resumed = run(tmp_path / "cut", resume=True)
    assert largest_difference(whole.state, resumed.state) == 0
    for name, values in whole.metrics().items():
        np.testing.assert_array_equal(values, resumed.metrics()[name])


@pytest.mark.exact
def test_a_checkpoint_that_knows_of_no_stream_is_enough(federation, task, tmp_path, monkeypatch):
    options = {"out": tmp_path / "run", "checkpoint_every": 3, "rounds": 9, "per_round": 3}
    kept = MemoryStream.state
    monkeypatch.setattr(MemoryStream, "state", lambda self: {})
    with pytest.raises(ZeroDivisionError):
        train(federation, task, MemoryStream(*MOVING), observer=lambda r, _: 1 / (8 - r.round), **options)
    monkeypatch.setattr(MemoryStream, "state", kept)
    resumed = train(federation, task, MemoryStream(*MOVING), resume=True, **options)
    whole = train(federation, task, MemoryStream(*MOVING), rounds=9, per_round=3)
    assert largest_difference(whole.state, resumed.state) == 0


def test_an_engine_made_for_another_stream_is_refused(federation, task):
    from unalike.engine import LocalEngine, Setting

    engine = LocalEngine(Setting(federation, task, FedAvg(**WORK), 1, MemoryStream("historical")))
    with pytest.raises(ConfigError, match="another stream"):
        train(federation, task, MemoryStream("historical"), engine=engine)
