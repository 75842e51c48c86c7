"""What would a suspicious person try with a deployment, and does training stay honest?"""

import signal
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import unalike
from unalike.aggregation.base import Uploads
from unalike.aggregation.server_step import Server
from unalike.aggregation.tally import Tally
from unalike.algorithms import Needs
from unalike.core.pytrees import largest_difference
from unalike.deploy import client_config as contract_module
from unalike.deploy import server as serving_module
from unalike.deploy.client.app import ClientWorker
from unalike.deploy.client.memory_files import MemoryFiles
from unalike.deploy.client.rows import as_agreed
from unalike.deploy.client_config import PROTOCOL, ClientConfig, NodeRows
from unalike.deploy.server import check_servable, introductions, make_folder, real_timing, train_nodes
from unalike.deploy.transport.mailbox import Mailbox
from unalike.deploy.transport.messages import MessageError, WireMessage
from unalike.engine.distributed import Visited, add_on_host, join
from unalike.experiments.build import make_task
from unalike.experiments.run import run_experiment
from unalike.report import report_run

from .in_process_nodes import Arrived, Village, experiment


@pytest.fixture(scope="module")
def federation():
    return unalike.load("digits", clients=3, partition="dirichlet:0.5", samples=90, seed=1)


@pytest.fixture(autouse=True)
def compiled_once(monkeypatch):
    """Equal tasks are one task here: most of the time of a tiny run is that of compiling for a new one."""
    for module in (contract_module, serving_module):
        monkeypatch.setattr(module, "make_task", same_task)


def same_task(described, federation):
    kind = (described.model, described.l2, federation.classes, federation.input_shape)
    return TASKS.setdefault(kind, make_task(described, federation))


TASKS = {}


@pytest.fixture
def village(federation, tmp_path):
    return Village(federation, tmp_path / "nodes")


def silence(line):
    return None


def served(village, folder, resume=False, patience=5.0, observer=None, **values):
    described = experiment(**{"rounds": 2, "steps": 1, **values})
    told = introductions(village, len(village.workers), 5.0, silence)
    opened = make_folder(described, folder, resume)
    return train_nodes(described, village, told, opened, patience=patience, resume=resume, observer=observer)[
        0
    ]


def simulated(federation, **values):
    described = experiment(**{"rounds": 2, "steps": 1, **values})
    return run_experiment(described, federation=federation, task=same_task(described, federation))


def training(change):
    """Mischief with the answers to jobs only."""
    return lambda request, answer: change(answer) if request.kind == "train" else answer


def judging(**numbers):
    """Mischief with the answers to evaluations only."""
    return lambda request, answer: (
        replace(answer, numbers={**answer.numbers, **numbers}) if request.kind == "evaluate" else answer
    )


def with_report(**arrays):
    """Mischief with what a client reports beside its upload."""
    more = {f"report/{name}": np.asarray(array) for name, array in arrays.items()}
    return training(lambda answer: replace(answer, arrays={**answer.arrays, **more}))


def reasons(run, client):
    return [str(e.get("reason", e["kind"])) for e in run.events() if e.get("client") == client]


# Arithmetic -------------------------------------------------------------------------------------------------


def uploads(seed=0):
    rng = np.random.default_rng(seed)
    floats = rng.normal(size=(4, 3)).astype(np.float32)
    return {"w": floats, "n": rng.integers(0, 9, size=(4, 2)).astype(np.int32)}


WEIGHTS = {
    "usual": ([0.1, 0.2, 0.3, 0.4], [1, 1, 1, 1]),
    "one rejected": ([0.1, 0.2, 0.3, 0.4], [1, 0, 1, 1]),
    "all rejected": ([0.1, 0.2, 0.3, 0.4], [0, 0, 0, 0]),
    "one counts nothing": ([0.0, 0.2, 0.3, 0.4], [1, 1, 1, 1]),
    "not one in all": ([2.0, 0.5, 0.0, 3.0], [1, 1, 1, 0]),
}


def by_hand(weights, rows):
    return sum(np.float64(w) * r.astype(np.float64) for w, r in zip(weights, rows, strict=True))


@pytest.mark.parametrize("case", WEIGHTS)
def test_uploads_are_added_as_by_hand(case):
    weights, accepted = (np.array(values, np.float64) for values in WEIGHTS[case])
    importance = np.array([0.4, 0.3, 0.2, 0.1])
    server = Server(SimpleNamespace(needs=Needs(importance_sum=True)), None)
    sent, begun = uploads(), uploads(1)
    for name in sent:
        sent[name][accepted == 0] = 0
    numbers = (values.astype(np.float32) for values in (weights, importance, accepted))
    done = add_on_host(Uploads(sent, *numbers), server, begun)
    for name in sent:
        np.testing.assert_allclose(done.total[name], by_hand(weights * accepted, sent[name]), rtol=1e-5)
        np.testing.assert_allclose(done.start[name], by_hand(weights * accepted, begun[name]), rtol=1e-5)
        by_importance = by_hand(importance * accepted, sent[name])
        np.testing.assert_allclose(done.importance_sum[name], by_importance, rtol=1e-5)
        assert done.total[name].dtype == done.start[name].dtype == np.float32
    wanted = (weights, weights * accepted, accepted, importance * accepted)
    np.testing.assert_allclose(done[3:], [values.sum() for values in wanted], rtol=1e-6)


def test_groups_that_worked_apart_are_put_together_in_the_cohorts_order():
    places = [np.array([2, 0]), np.array([3, 1])]
    whole = uploads()["w"]
    parts = []
    for p in places:
        ones = np.ones(len(p), np.float32)
        tally = Tally.of_sum({"w": whole[p].sum(0)}, ones, ones, ones)
        parts.append(Visited(tally, Uploads({"w": whole[p]}, p, ones, ones, p), {"accepted": p}))
    done = join(parts, places)
    np.testing.assert_allclose(done.tally.total["w"], whole.sum(0), rtol=1e-5)
    assert np.array_equal(done.uploads.upload["w"], whole)
    assert done.uploads.weight.tolist() == done.report["accepted"].tolist() == [0, 1, 2, 3]
    assert done.tally.requested_weight == 4


REMEMBERING = {"ditto": {}, "fedadam": {"per_round": 2}}


@pytest.mark.parametrize("name", REMEMBERING)
def test_the_method_that_is_simulated_is_the_method_that_is_deployed(federation, village, tmp_path, name):
    values = {"algorithm": name, **REMEMBERING[name]}
    here, there = simulated(federation, **values), served(village, tmp_path / "run", **values)
    assert largest_difference(here.state, there.state) < 1e-6  # another program
    for column in ("test_accuracy", "test_loss", "train_loss", "bytes_down"):
        if column in here.metrics():
            np.testing.assert_allclose(there.metrics()[column], here.metrics()[column], rtol=1e-5)


@pytest.mark.exact
def test_a_deployment_that_is_repeated_gives_the_same_bits(federation, tmp_path):
    runs = [
        served(Village(federation, tmp_path / f"nodes-{k}"), tmp_path / f"run-{k}", algorithm="scaffold")
        for k in range(2)
    ]
    assert largest_difference(runs[0].state, runs[1].state) == 0


def test_numbers_instead_of_classes_validation_rows_and_equal_clients(tmp_path):
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(60, 3)).astype(np.float32), rng.normal(size=60)
    y = (x @ [1.0, -2.0, 0.5] + 0.1 * noise).astype(np.float32)
    whole = unalike.Federation.from_owners(x, y, np.repeat([0, 1, 2], 20), classes=None)
    whole = whole.with_split(0.2, 0.2, seed=0)
    values = {"importance": "equal", "learning_rate": 0.05}
    here = simulated(whole.with_importance("equal"), **values)
    there = served(Village(whole, tmp_path / "nodes"), tmp_path / "run", **values)
    assert largest_difference(here.state, there.state) < 1e-6  # another program
    for column in ("test_rmse", "validation_rmse"):
        np.testing.assert_allclose(there.metrics()[column], here.metrics()[column], rtol=1e-5)


def test_nodes_may_know_different_numbers_of_classes_and_have_no_test_rows(federation, tmp_path):
    village = Village(federation, tmp_path / "nodes")
    own = village.workers["node-1"].federation
    nothing = replace(own.test, x=own.test.x[:0], y=own.test.y[:0], offsets=np.zeros(2, np.int64))
    village.workers["node-1"].federation = replace(own, test=nothing, classes=int(own.train.y.max()) + 1)
    run = served(village, tmp_path / "run")
    assert run.events() == []
    judged = run.client_metrics()
    assert judged["test_samples"].tolist()[1] == 0
    assert np.isnan(judged["test_accuracy"]).tolist() == [False, True, False]
    assert np.isfinite(run.metrics()["test_accuracy"]).all()


# Who takes part ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampling", ["md", "clustered-similarity", "power-of-choice"])
def test_samplers_that_need_no_rows_draw_as_in_a_simulation(federation, village, tmp_path, sampling):
    values = {"sampling": sampling, "per_round": 2, "rounds": 3}
    here, there = simulated(federation, **values), served(village, tmp_path / "run", **values)
    assert largest_difference(here.state, there.state) < 1e-6
    assert np.array_equal(here.metrics()["participants"], there.metrics()["participants"], equal_nan=True)


@pytest.mark.parametrize("sampling", ["target", "optimal", "clustered-data"])
def test_samplers_that_look_at_what_stays_with_clients_are_refused_by_name(sampling):
    with pytest.raises(unalike.ConfigError, match=f"sampling '{sampling}' needs data that deployed clients"):
        check_servable(experiment(sampling=sampling, per_round=2))


def test_a_client_that_is_away_is_not_taken_for_the_one_with_the_highest_loss(village, tmp_path):
    village.mischief["node-2"] = judging(loss=float("nan"))
    run = served(village, tmp_path / "run", sampling="power-of-choice:3", per_round=1, rounds=3)
    used = [name for name, request in village.requests if request.kind == "train"]
    assert run.rounds == 3
    assert "node-2" not in used


def test_an_experiment_of_clients_that_come_and_go_is_used_as_it_is(village, tmp_path):
    run = served(village, tmp_path / "run", availability="markov:0.5,0.5", participation="ca-fed:0.1,1")
    assert run.metrics()["participants"][1:].tolist() == [3, 3]


def test_a_simulations_clock_does_not_end_a_deployment_before_it_begins(village, tmp_path):
    described = experiment(rounds=None, until=3.0, steps=1, evaluate_every=0, checkpoint_every=0)
    told = introductions(village, 3, 5.0, silence)

    def enough(report, total):
        if report.round == 2:
            raise SystemError("enough")

    with pytest.raises(SystemError):
        train_nodes(
            described, village, told, make_folder(described, tmp_path / "run", False), observer=enough
        )


# Memory and resuming ----------------------------------------------------------------------------------------


def killed_after(round):
    def observer(report, total):
        if report.round == round:
            raise SystemError("killed")

    return observer


@pytest.mark.parametrize(("every", "killed"), [(1, 2), (3, 4)])
def test_a_run_that_was_killed_goes_on_as_if_it_had_not(federation, tmp_path, every, killed):
    values = {"algorithm": "scaffold", "rounds": 4, "checkpoint_every": every, "evaluate_every": 0}
    whole = simulated(federation, **values)
    village = Village(federation, tmp_path / "nodes")
    with pytest.raises(SystemError):
        served(village, tmp_path / "run", observer=killed_after(killed), **values)
    for name, worker in village.workers.items():  # and the nodes, too
        village.workers[name] = ClientWorker(worker.federation, worker.folder)
    resumed = served(village, tmp_path / "run", resume=True, **values)
    assert largest_difference(whole.state, resumed.state) < 1e-6  # a simulation is another program


def test_a_rejected_or_lost_result_leaves_no_trace_in_what_a_client_remembers(federation, tmp_path):
    """Client 1 spoils round 2 of 4: all is as if it had been told nothing in that round."""
    village, calls = Village(federation, tmp_path / "nodes"), iter(range(9))

    def spoil(answer):
        if next(calls) != 1:
            return answer
        return replace(answer, arrays={k: np.full_like(v, np.inf) for k, v in answer.arrays.items()})

    village.mischief["node-1"] = training(spoil)
    run = served(village, tmp_path / "run", algorithm="scaffold", rounds=4)
    lasts = [e.numbers["last"] for n, e in village.requests if n == "node-1" and e.kind == "train"]
    assert lasts == [-1, 0, 0, 2]
    assert run.memories.last.tolist() == [3, 3, 3]


def test_nodes_keep_only_what_a_server_may_go_back_to(village, tmp_path):
    run = served(
        village, tmp_path / "run", algorithm="scaffold", rounds=7, checkpoint_every=1, evaluate_every=0
    )
    name = run.record.meta()["deployment"]
    for worker in village.workers.values():
        assert MemoryFiles(worker.folder, name).jobs()[-1] == 6
        assert len(MemoryFiles(worker.folder, name).jobs()) <= 4


def test_two_runs_on_the_same_nodes_do_not_share_memories(federation, village, tmp_path):
    served(village, tmp_path / "first", algorithm="scaffold", seed=1)
    second = served(village, tmp_path / "second", algorithm="scaffold", seed=2)
    alone = simulated(federation, algorithm="scaffold", seed=2)  # another program
    assert largest_difference(second.state, alone.state) < 1e-6


def test_a_run_does_not_go_on_with_other_nodes_in_its_clients_places(federation, village, tmp_path):
    served(village, tmp_path / "run", algorithm="scaffold", rounds=1)
    names = dict(zip(("node-1", "node-2", "node-3"), village.workers.values(), strict=True))
    village.workers = names
    with pytest.raises(unalike.errors.RunError, match="node-0"):
        served(village, tmp_path / "run", resume=True, algorithm="scaffold", rounds=2)


def test_a_run_does_not_go_on_with_fewer_nodes(federation, village, tmp_path):
    served(village, tmp_path / "run", algorithm="scaffold", rounds=1)
    del village.workers["node-2"]
    with pytest.raises(unalike.errors.RunError):
        served(village, tmp_path / "run", resume=True, algorithm="scaffold", rounds=2)


# Time -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timing", ["synchronous", "async"])
def test_rounds_are_not_used_up_while_nobody_is_there(village, tmp_path, timing):
    """An outage of a second and a half must not end a training of three rounds."""
    described = experiment(rounds=3, steps=1, timing=timing, evaluate_every=0)
    told = introductions(village, 3, 5.0, silence)
    back = time.monotonic() + 1.5
    there = village.nodes
    village.nodes = lambda: there() if time.monotonic() > back else {}
    began = time.process_time()
    run, _ = train_nodes(described, village, told, make_folder(described, tmp_path / "run", False))
    assert np.nansum(run.metrics()["participants"]) >= 3
    assert len(run.events()) < 20
    assert time.process_time() - began < 10


def test_an_outage_does_not_make_weights_explode():
    timing = real_timing(experiment(timing="fedfix:0.01"))
    weights = []
    jobs = Sleepy(outage=range(3, 60))
    timing.begin(unalike.timing.Clients(np.array([0.5, 0.5]), jobs=jobs))
    draw = SimpleNamespace(everyone=True)
    for step in timing.steps(draw, 0):
        weights.extend(step.weights.tolist())
        if step.number > 62:
            break
    assert max(weights) <= 1.0


class Sleepy(unalike.timing.Jobs):
    """Clients that answer at once, except during an outage."""

    def __init__(self, outage):
        super().__init__(None, 2)
        self.outage = outage

    def send(self, clients, version, now):
        self._begin(clients, version, now)
        self.ready[clients], self.given_up[clients] = now, version in self.outage
        self._queue.extend((now, client) for client in clients.tolist())


def test_the_clock_does_not_go_back_when_a_run_goes_on(federation, tmp_path):
    village = Village(federation, tmp_path / "nodes")
    values = {"timing": "fedfix:0.3", "rounds": 3, "checkpoint_every": 1, "evaluate_every": 0}
    with pytest.raises(SystemError):
        served(village, tmp_path / "run", observer=killed_after(2), **values)
    run = served(village, tmp_path / "run", resume=True, **values)
    clock = run.metrics()["clock"][1:]
    assert (np.diff(clock) > 0).all()
    begun = run.record.groups("started")
    assert all((begun[number] >= clock[number - 2] - 0.01).all() for number in begun if number > 2)


def test_results_that_come_after_a_deadline_are_not_used(village, tmp_path):
    values = {"timing": "deadline:0.3", "rounds": 5, "evaluate_every": 0}
    served(village, tmp_path / "warm", **values)  # compiled
    village.mischief["node-0"] = training(lambda answer: 0.5)
    run = served(village, tmp_path / "run", **values)
    assert all(0 not in clients for clients in run.record.groups("used").values())
    assert sum(e["kind"] == "late answer" and e["client"] == 0 for e in run.events()) >= 1


@pytest.mark.parametrize("timing", ["deadline:0.3", "fedfix:0.3"])
def test_the_time_of_an_evaluation_is_not_taken_from_the_clients(federation, village, tmp_path, timing):
    """Evaluations take longer than a round here; clients answer at once, and so all of them take part."""
    values = {"timing": timing, "rounds": 3, "evaluate_every": 1}
    served(village, tmp_path / "warm", **values)  # compiled
    village.mischief["node-1"] = lambda request, answer: 0.7 if request.kind == "evaluate" else answer
    run = served(village, tmp_path / "run", **values)
    assert run.metrics()["participants"][1:].tolist() == [3, 3, 3]


def test_ctrl_c_does_not_wait_for_a_client_that_never_answers(federation, village, tmp_path):
    village.mischief["node-1"] = training(lambda answer: None)
    pressed = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    pressed.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        served(village, tmp_path / "run", patience=12.0, algorithm="scaffold", evaluate_every=0)
    assert time.monotonic() - began < 10
    village.mischief.clear()
    resumed = served(village, tmp_path / "run", resume=True, algorithm="scaffold", evaluate_every=0)
    whole = simulated(federation, algorithm="scaffold", evaluate_every=0)
    assert largest_difference(resumed.state, whole.state) < 1e-6  # another program


def test_what_happens_to_a_client_is_recorded_in_its_round(village, tmp_path):
    jobs = iter(range(9))
    village.mischief["node-1"] = training(lambda answer: "no power" if next(jobs) == 2 else answer)
    run = served(village, tmp_path / "run", rounds=4, evaluate_every=0)
    assert {e["round"] for e in run.events() if e["client"] == 1} == {3}


def test_only_messages_that_somebody_works_on_are_kept(village, tmp_path):
    village.mischief["node-0"] = training(lambda answer: 0.3)
    run = served(village, tmp_path / "run", timing="async", rounds=12, evaluate_every=0)
    assert len(run.history.kept) <= 4


def test_an_answer_that_was_only_an_error_is_not_called_late():
    """The post says that an request has expired after nobody waits for it any more."""
    said = []

    class Silent:
        def nodes(self):
            return {"ann": 1}

        def send_many(self, requests, group, ttl):
            return ["x"]

        def collect(self, ids, limit):
            return [Arrived("x", None, "there was no answer in time.")] if said else []

    mailbox = Mailbox(Silent(), ["ann"])
    mailbox.send("train", {0: {}}, {}, "1", 0.0)
    time.sleep(0.01)
    mailbox.collect()
    said.append(True)
    mailbox.collect()
    assert [event["kind"] for event in mailbox.events()] == ["no answer"]


# Dishonest nodes --------------------------------------------------------------------------------------------

HONEST = '{"train": 5, "validation": 0, "test": 1, "classes": 2, "shape": [4], "target": [], "types": '


LIES = [
    HONEST.replace('"train": 5', '"train": -5') + '["float32", "int32"]}',
    HONEST.replace('"train": 5', '"train": true') + '["float32", "int32"]}',
    HONEST.replace('"train": 5', '"train": 1e300') + '["float32", "int32"]}',
    *("null", "[]", '"rows"'),
]
BELIEVED = [
    "[" * 50_000,
    HONEST + '["object", "int32"]}',
    HONEST + '["float32", "U7"]}',
    HONEST.replace('"classes": 2', '"classes": 2000000000') + '["float32", "int32"]}',
    HONEST.replace("[4]", "[2000000000, 2000000000]") + '["float32", "int32"]}',
    HONEST.replace("[4]", "[" + "1," * 99 + "1]") + '["float32", "int32"]}',
]


@pytest.mark.parametrize("words", LIES, ids=range(len(LIES)))
def test_what_a_node_says_of_its_rows_is_believed_only_if_it_can_be(words):
    with pytest.raises(MessageError):
        NodeRows.read(words)


@pytest.mark.parametrize("words", BELIEVED, ids=range(len(BELIEVED)))
def test_what_a_node_says_of_its_rows_cannot_fill_the_memory_of_the_server(words):
    with pytest.raises(MessageError):
        NodeRows.read(words)


def test_the_server_counts_test_rows_itself(federation, village, tmp_path):
    """A node that says it has more rows must not decide the mean over all rows."""
    for node, lie in zip(village.workers, (1e30, float("inf"), "many"), strict=True):
        village.mischief[node] = judging(samples=lie)
    run = served(village, tmp_path / "run", rounds=0)
    judged, rows = run.client_metrics(), federation.test.sizes
    assert judged["test_samples"].tolist() == rows.tolist()
    mean = np.average(judged["test_accuracy"], weights=rows)
    np.testing.assert_allclose(run.metrics()["test_accuracy"], mean, rtol=1e-6)


def test_a_metric_that_is_no_number_does_not_spoil_the_mean(village, tmp_path):
    village.mischief["node-1"] = judging(accuracy=float("nan"), loss="good")
    village.mischief["node-2"] = judging(loss=float("inf"))
    run = served(village, tmp_path / "run", rounds=0)
    assert np.isfinite(run.metrics()["test_accuracy"]).all()
    assert np.isfinite(run.metrics()["test_loss"]).all()


def test_an_evaluation_must_be_answered_with_metrics(village, tmp_path):
    village.mischief["node-1"] = lambda e, a: replace(a, kind="poem") if e.kind == "evaluate" else a
    run = served(village, tmp_path / "run", rounds=0)
    assert run.rounds == 0
    assert np.isnan(run.client_metrics()["test_accuracy"]).tolist() == [False, True, False]


def test_nodes_cannot_write_metrics_of_their_own_into_the_record(village, tmp_path):
    names = ("test_accuracy", "participants", "epsilon", "<b>", "x" * 900, *(f"a{i}" for i in range(2_000)))
    for node in village.workers:
        village.mischief[node] = with_report(**dict.fromkeys(names, np.float32(7)))
    found = served(village, tmp_path / "run", rounds=2, evaluate_every=2).metrics()
    assert len(found) < 50
    assert not any(np.isclose(found[name], 7).any() for name in names if name in found)


def test_a_strange_report_is_not_the_servers_problem(village, tmp_path):
    lies = (np.zeros(3, np.float32), np.zeros((), np.complex64), np.float32(np.nan))
    for node, lie in zip(village.workers, lies, strict=True):
        village.mischief[node] = with_report(train_loss=lie)
    run = served(village, tmp_path / "run", rounds=1)
    assert run.metrics()["rejected"][1:].tolist() == [0]
    assert np.isfinite(run.metrics()["test_accuracy"]).all()


def test_a_sampler_that_watches_updates_survives_nodes_that_hide_theirs(village, tmp_path):
    def hide(lie):
        return training(lambda answer: replace(answer, arrays={**without(answer), **lie}))

    def without(answer):
        return {name: array for name, array in answer.arrays.items() if name != "report/update"}

    village.mischief["node-1"] = hide({})
    village.mischief["node-2"] = hide({"report/update": np.zeros(3, np.float32)})
    run = served(village, tmp_path / "run", sampling="clustered-similarity", per_round=3, rounds=2)
    assert run.rounds == 2


def test_a_sampler_that_watches_updates_survives_a_round_in_which_all_are_rejected(village, tmp_path):
    def spoil_first_round(request, answer):
        if request.kind != "train" or request.numbers["round"] != 0:
            return answer
        return replace(answer, arrays={k: np.full_like(v, np.nan) for k, v in answer.arrays.items()})

    village.mischief = dict.fromkeys(village.workers, spoil_first_round)
    run = served(village, tmp_path / "run", sampling="clustered-similarity", per_round=2, rounds=2)
    assert run.metrics()["rejected"][1] > 0


def test_a_training_whose_uploads_are_all_rejected_has_no_model(village, tmp_path):
    for node in village.workers:
        village.mischief[node] = training(
            lambda a: replace(a, arrays={k: np.full_like(v, np.nan) for k, v in a.arrays.items()})
        )
    with pytest.raises(unalike.UnalikeError, match=r"no node has trained, so there is no model \(node-0: "):
        served(village, tmp_path / "run", rounds=2)
    assert not (tmp_path / "run" / "model.safetensors").exists()


@pytest.mark.exact
def test_whichever_way_an_upload_is_bad_the_others_count_for_it(federation, tmp_path):
    def nan(answer):
        return replace(answer, arrays={k: np.full_like(v, np.nan) for k, v in answer.arrays.items()})

    def misshapen(answer):
        return replace(answer, arrays={k: np.zeros(3, np.float32) for k in answer.arrays})

    states = []
    for k, spoil in enumerate((nan, misshapen)):
        village = Village(federation, tmp_path / f"nodes-{k}")
        village.mischief["node-1"] = training(spoil)
        states.append(served(village, tmp_path / f"run-{k}").state)
    assert largest_difference(*states) == 0


def test_a_long_reason_of_a_node_is_cut_short_and_shown_as_text(village, tmp_path):
    cry = "<script>alert(1)</script>\x1b[2J" + "a" * 50_000
    village.mischief["node-1"] = training(lambda answer: WireMessage("refusal", {"reason": cry}))
    run = served(village, tmp_path / "run", rounds=1)
    assert max(len(words) for words in reasons(run, 1)) < 1_000
    assert not any("\x1b" in words for words in reasons(run, 1))
    page = report_run(run.folder, replace(run.setting.federation, classes=None), {})
    assert "<script>alert(1)" not in page.read_text()


def test_the_job_that_an_answer_names_does_not_matter(village, tmp_path):
    lies = ({}, {"job": "seven"}, {"job": 10**12, "seconds": "x"})
    for node, lie in zip(village.workers, lies, strict=True):
        village.mischief[node] = training(lambda answer, lie=lie: replace(answer, numbers=lie))
    assert served(village, tmp_path / "run", rounds=1).events() == []


# Dishonest servers ------------------------------------------------------------------------------------------


def client_config(**changes):
    told = {"model": "linear", "algorithm": "scaffold", "steps": 1, "seed": 0}
    good = ClientConfig("run7", told, 0, 3, 0.5, 40, 10)
    return replace(good, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"run": "../../etc"},
        {"run": ""},
        {"run": "a" * 65},
        {"run": "été"},
        {"run": 7},
        {"number": 3},
        {"number": True},
        {"largest": 0},
        {"importance": 2.0},
        {"importance": "all"},
        {"importance": float("nan")},
        {"watch": ("passwords",)},
        {"experiment": {"algorithm": "format-disk"}},
        {"experiment": {"algorithm": "dpasgd"}},
        {"experiment": {"data": "/etc/passwd"}},
        {"experiment": {"out": "/tmp"}},
        {"experiment": {"model": "import os"}},
        {"experiment": {"learning_rate": "fast"}},
        {"experiment": []},
        {"experiment": "fedavg"},
        {"classes": 2},
        {"classes": 0, "label_names": ()},
        {"label_names": tuple("abcdefghij")},
        {"label_names": ("a",) * 10},
        {"label_names": tuple("abc")},
        {"label_names": 10},
        {"label_names": (1,) * 10},
        {"label_names": ("x" * 201, *"bcdefghij")},
        {"columns": ("age",)},
        {"columns": ("\x1b[2J",)},
        {"columns": ("x" * 1001,)},
        {"columns": {"age": 1}},
    ],
    ids=lambda changes: str(changes)[:60],
)
def test_a_node_refuses_an_impossible_contract(village, changes):
    worker = village.workers["node-0"]
    numbers = {"contract": client_config(**changes).write(), "round": 0, "last": -1, "protocol": PROTOCOL}
    answer = worker.answer(WireMessage("evaluate", {**numbers, "split": "test"}))
    assert answer.kind == "refusal"
    assert not (worker.folder / "memories").exists()


def test_a_node_does_what_a_possible_contract_says(village):
    mine = village.workers["node-0"].federation
    assert as_agreed(mine, ClientConfig.read(client_config().write()), uncut=False).classes == 10


def test_a_node_does_not_make_room_for_billions_of_clients():
    with pytest.raises(MessageError, match="impossible place"):
        ClientConfig.read(client_config(clients=2_000_000_000).write())


@pytest.mark.parametrize("split", ["", "all", "../train", "x", "train.x"])
def test_a_node_knows_only_its_splits(village, split):
    request = WireMessage(
        "evaluate", {"contract": client_config().write(), "split": split, "protocol": PROTOCOL}
    )
    assert "there is no split" in village.workers["node-0"].answer(request).numbers["reason"]


def test_a_node_refuses_a_model_that_the_contract_does_not_have(village):
    numbers = {
        "contract": client_config().write(),
        "round": 0,
        "job": 0,
        "last": -1,
        "keep": -1,
        "protocol": PROTOCOL,
    }
    arrays = {"message/w": np.zeros((10, 10_000), np.float32)}
    answer = village.workers["node-0"].answer(WireMessage("train", numbers, arrays))
    assert answer.kind == "refusal"


@pytest.mark.parametrize("missing", ["round", "job", "last", "keep"])
def test_a_job_must_say_everything(village, missing):
    numbers = {
        "contract": client_config().write(),
        "round": 0,
        "job": 0,
        "last": -1,
        "keep": -1,
        "protocol": PROTOCOL,
    }
    del numbers[missing]
    answer = village.workers["node-0"].answer(WireMessage("train", numbers))
    assert answer.kind == "refusal"
