"""Do clients who keep their data train as those of a simulation do, whatever goes wrong on the way?"""

from dataclasses import dataclass, replace
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import unalike
from unalike.algorithms import FedAvg, algorithm_registry
from unalike.core.pytrees import largest_difference
from unalike.deploy.server import introductions, make_folder, train_nodes
from unalike.deploy.transport.messages import WireMessage
from unalike.experiments.build import make_task
from unalike.experiments.run import run_experiment

from .in_process_nodes import Village, experiment


@pytest.fixture(scope="module")
def federation():
    return unalike.load("digits", clients=4, partition="dirichlet:0.5", samples=200, seed=1)


@pytest.fixture
def village(federation, tmp_path):
    return Village(federation, tmp_path / "nodes")


def served(village, folder, patience=5.0, resume=False, **values):
    described = experiment(**values)
    told = introductions(village, len(village.workers), 5.0, lambda line: None)
    opened = make_folder(described, folder, resume)
    return train_nodes(described, village, told, opened, patience=patience, resume=resume)[0]


def simulated(federation, **values):
    described = experiment(**values)
    return run_experiment(described, federation=federation, task=make_task(described, federation))


def kinds(run):
    return [(event["kind"], event.get("client"), event["round"]) for event in run.events()]


@pytest.mark.parametrize(
    "values",
    [
        {"algorithm": "fedavg"},
        {"algorithm": "fedavg", "aggregator": "norm-bound:0.05"},
        {"algorithm": "fedavg", "aggregator": "bucketing:1,median", "monitor": "free-riders"},
        {"algorithm": "scaffold", "per_round": 2},
        {"algorithm": "fedem", "options": {"components": 2}},
        {"algorithm": "fedavg", "model": "mlp-bn:4", "state": "local"},
    ],
    ids=lambda values: values["algorithm"],
)
def test_real_clients_and_simulated_ones_make_the_same_model(federation, village, tmp_path, values):
    here, there = simulated(federation, **values), served(village, tmp_path / "run", **values)
    assert largest_difference(here.state, there.state) < 1e-6
    ours, theirs = here.metrics(), there.metrics()
    for name in ("participants", "rejected", "bytes_up", "bytes_down"):
        assert np.array_equal(ours[name], theirs[name], equal_nan=True)
    np.testing.assert_allclose(theirs["test_accuracy"], ours["test_accuracy"], rtol=1e-6)
    np.testing.assert_allclose(theirs["train_loss"], ours["train_loss"], rtol=1e-5)
    assert there.events() == []


def test_what_real_clients_say_that_they_weigh_is_taken(federation, village, tmp_path):
    @algorithm_registry.add("heavy-half")
    @dataclass(frozen=True, kw_only=True)
    class HeavyHalf(FedAvg):
        name: ClassVar[str] = "heavy-half"

        def client(self, task, message, memory, data, key):
            reply = super().client(task, message, memory, data, key)
            return reply._replace(weight=jnp.where(data.client < 2, 1.5, 0.25))

    try:
        here = simulated(federation, algorithm="heavy-half")
        there = served(village, tmp_path / "run", algorithm="heavy-half")
    finally:
        del algorithm_registry._makers["heavy-half"]
    assert largest_difference(here.state, there.state) < 1e-6
    assert largest_difference(here.state, simulated(federation, algorithm="fedavg").state) > 1e-3


def test_rows_never_leave_their_node(village, tmp_path):
    served(village, tmp_path / "run", algorithm="scaffold", rounds=1)
    kept = [worker.federation for worker in village.workers.values()]
    rows = {tuple(np.round(row.ravel(), 6)) for part in kept for row in part.train.x}
    for _, request in village.requests:
        for array in request.arrays.values():
            assert not any(tuple(np.round(np.ravel(row), 6)) in rows for row in np.atleast_2d(array))


@pytest.mark.parametrize("timing", ["async", "fedfix:0.3", "fedbuff:2", "deadline:2", "over-selection:3"])
def test_every_policy_runs_on_results_as_they_arrive(village, tmp_path, timing):
    village.mischief["node-1"] = lambda request, answer: 0.4 if request.kind == "train" else answer
    run = served(village, tmp_path / "run", timing=timing, rounds=5)
    assert run.rounds == 5
    clock = run.metrics()["clock"][1:]
    assert (np.diff(clock) >= 0).all()
    assert clock[-1] < 60
    losses = run.metrics()["test_loss"]
    assert losses[-1] != losses[0]
    assert abs(losses[-1] - losses[0]) < 1


def silent(request, answer):
    return None if request.kind == "train" else answer


def poisoned(request, answer):
    if request.kind != "train":
        return answer
    arrays = {k: np.full_like(v, np.nan) if k.startswith("upload") else v for k, v in answer.arrays.items()}
    return replace(answer, arrays=arrays)


def misshapen(request, answer):
    if request.kind != "train":
        return answer
    return replace(answer, arrays={name: np.zeros(3, np.float32) for name in answer.arrays})


def huge(request, answer):
    if request.kind != "train":
        return answer
    more = {"upload/more": np.zeros(100 * sum(a.nbytes for a in answer.arrays.values()), np.uint8)}
    return replace(answer, arrays={**answer.arrays, **more})


def failing(request, answer):
    return "out of memory" if request.kind == "train" else answer


def babbling(request, answer):
    return WireMessage("poetry", {"verse": 1}) if request.kind == "train" else answer


@pytest.mark.parametrize(
    ("mischief", "kind", "words"),
    [
        (silent, "no answer", ""),
        (poisoned, "bad upload", "NaN or infinite"),
        (misshapen, "bad upload", "shape"),
        (huge, "bad", "too large"),
        (failing, "bad answer", "out of memory"),
        (babbling, "bad upload", "poetry"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_client_that_misbehaves_is_left_out_and_named(village, tmp_path, mischief, kind, words):
    village.mischief["node-2"] = mischief
    run = served(village, tmp_path / "run", rounds=2, patience=0.3)
    assert run.rounds == 2
    assert np.isfinite(run.metrics()["test_accuracy"][-1])
    reasons = [e for e in run.events() if e["kind"].startswith(kind) and e["client"] == 2]
    assert len(reasons) == 2
    assert {event["name"] for event in reasons} == {"node-2"}
    assert all(words in event.get("reason", "") for event in reasons)


def test_a_client_that_was_left_out_did_not_change_the_others(federation, village, tmp_path):
    village.mischief["node-2"] = poisoned
    there = served(village, tmp_path / "run", algorithm="scaffold", rounds=2)
    assert there.metrics()["rejected"][1:].tolist() == [1, 1]
    assert there.memories.last.tolist() == [1, 1, -1, 1]


def test_who_is_away_is_not_waited_for(village, tmp_path):
    told = introductions(village, 4, 5.0, lambda line: None)
    village.away.add("node-3")
    folder = make_folder(experiment(), tmp_path / "run", False)
    run, _ = train_nodes(experiment(rounds=2), village, told, folder, patience=60.0)
    assert run.metrics()["participants"][1:].tolist() == [3, 3]
    assert ("client away", 3, 1) in kinds(run)
    assert ("lost job", 3, 1) in kinds(run)


def test_an_answer_that_comes_late_is_noticed_and_not_used(village, tmp_path):
    delays = iter([0.0, 0.5])  # the first job compiles, which takes longer than anything here
    village.mischief["node-0"] = lambda e, a: next(delays, a) if e.kind == "train" else a
    run = served(village, tmp_path / "run", rounds=6, patience=0.2, timing="fedfix:0.3")
    assert [k for k, c, _ in kinds(run) if c == 0 and k in ("no answer", "late answer")] == [
        "no answer",
        "late answer",
    ]


@pytest.mark.exact
def test_a_server_that_was_killed_goes_on_as_if_it_had_not(village, federation, tmp_path):
    values = {"algorithm": "scaffold", "rounds": 6, "checkpoint_every": 2, "per_round": 2}
    whole = served(village, tmp_path / "whole", **values)
    other = Village(federation, tmp_path / "others")

    def stop(report, total):
        if report.round == 5:
            raise SystemError("killed")

    described = experiment(**values)
    told = introductions(other, 4, 5.0, lambda line: None)
    with pytest.raises(SystemError):
        train_nodes(described, other, told, make_folder(described, tmp_path / "cut", False), observer=stop)
    resumed = served(other, tmp_path / "cut", resume=True, **values)
    assert largest_difference(whole.state, resumed.state) == 0
    assert np.array_equal(
        whole.metrics()["test_accuracy"], resumed.metrics()["test_accuracy"], equal_nan=True
    )


def test_a_node_that_lost_its_memory_says_so(village, federation, tmp_path):
    forgetful = iter(range(100))

    def forget(request, answer):
        if request.kind == "train" and next(forgetful) == 0:
            village.workers["node-1"].folder = tmp_path / "elsewhere"
            village.workers["node-1"]._open_session = None
        return answer

    village.mischief["node-1"] = forget
    run = served(village, tmp_path / "run", algorithm="scaffold", rounds=2)
    assert any("does not remember its job 0" in event.get("reason", "") for event in run.events())


def test_nodes_with_other_rows_are_refused_by_name(village, tmp_path):
    other = unalike.load("synthetic:1,1", clients=1, seed=0)
    village.workers["node-2"].federation = other.subset([0])
    with pytest.raises(unalike.DataError, match="node node-2 has rows of shape"):
        served(village, tmp_path / "run")


def test_a_node_of_another_version_is_refused_by_name(village, tmp_path):
    village.mischief["node-1"] = lambda request, answer: replace(
        answer, numbers={**answer.numbers, "protocol": 0}
    )
    with pytest.raises(unalike.errors.RunError, match=r"node node-1 .* speaks protocol 0"):
        served(village, tmp_path / "run")


def test_everyone_gets_the_model(village, tmp_path):
    described = experiment(rounds=1)
    told = introductions(village, 4, 5.0, lambda line: None)
    run, engine = train_nodes(described, village, told, make_folder(described, tmp_path / "run", False))
    assert engine.hand_over_model(run.message) == 4
    for worker in village.workers.values():
        (model,) = (worker.folder / "models").glob("*.safetensors")
        tensors, _ = unalike.runs.load_tensors(model)
        assert largest_difference(unalike.runs.restore(run.message, tensors), run.message) == 0


def test_the_record_says_that_data_were_the_nodes_own_and_who_they_were(village, tmp_path):
    run = served(village, tmp_path / "run", rounds=1, data="digits")
    assert (run.folder.config["data"], run.folder.config["engine"]) == ("nodes", "flower")
    assert run.setting.federation.names == ("node-0", "node-1", "node-2", "node-3")


def test_the_engine_needs_real_clients(federation):
    with pytest.raises(unalike.ConfigError, match="unalike serve"):
        run_experiment(experiment(engine="flower"), federation=federation)


def test_python_says_where_real_clients_are_trained_with(federation):
    task = make_task(experiment(), federation)
    with pytest.raises(unalike.ConfigError, match="real clients train by `unalike serve` and `unalike join`"):
        unalike.train(federation, task, unalike.FedAvg(), rounds=1, engine="flower")


@pytest.mark.parametrize("name", ["mocha", "clustered-fl", "perturbed"])
def test_methods_that_would_show_clients_what_is_not_theirs_are_refused(village, tmp_path, name):
    with pytest.raises(unalike.ConfigError, match=f"{name} would send all clients what belongs to single"):
        served(village, tmp_path / "run", algorithm=name)


ASKED = "f1,accuracy,auc,confusion"


def test_real_clients_answer_with_tables_where_metrics_need_them(federation, village, tmp_path):
    here, there = (
        simulated(federation, metrics=ASKED, rounds=1),
        served(village, tmp_path / "run", metrics=ASKED, rounds=1),
    )
    for name in ("test_f1", "test_accuracy", "test_auc"):
        np.testing.assert_allclose(there.metrics()[name], here.metrics()[name], rtol=1e-5)
        np.testing.assert_allclose(there.client_metrics()[name], here.client_metrics()[name], rtol=1e-5)
    np.testing.assert_allclose(there.evaluate()["confusion"], here.evaluate()["confusion"], atol=1e-6)


def test_a_table_of_another_shape_is_no_metric(federation, village, tmp_path):
    lies = {
        "node-1": np.ones((2, 2)),
        "node-2": np.full((10, 10), np.nan),
        "node-3": np.zeros((10, 10), "<U1"),
    }
    for node, lie in lies.items():

        def mischief(request, answer, lie=lie):
            return (
                replace(answer, arrays={"statistic/confusion": lie}) if request.kind == "evaluate" else answer
            )

        village.mischief[node] = mischief
    run = served(village, tmp_path / "run", metrics="f1", rounds=0)
    assert np.isnan(run.client_metrics()["test_f1"]).tolist() == [False, True, True, True]
    assert np.isfinite(run.metrics()["test_f1"]).all()


def test_what_is_sent_for_metrics_that_are_numbers_has_not_changed(village, tmp_path):
    answers = []
    village.mischief["node-0"] = lambda request, answer: answers.append(answer) or answer
    served(village, tmp_path / "run", rounds=0)
    told = [request.numbers["contract"] for _, request in village.requests if request.kind == "evaluate"]
    assert told
    assert not any("metrics" in words for words in told)
    (metrics,) = [answer for answer in answers if answer.kind == "metrics"]
    assert set(metrics.numbers) == {"samples", "loss", "accuracy"}
    assert metrics.arrays == {}
