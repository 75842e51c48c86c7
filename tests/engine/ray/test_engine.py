"""Does a cluster give the same answer as one machine, whatever happens to it?"""

import os
import signal
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import unalike
from unalike import ConfigError, DataError, RunError
from unalike.algorithms import FedEM, LocalWork, Optimizer, Scaffold, algorithm_registry
from unalike.analytics.fitting import fit_rounds, linear_task
from unalike.core.pytrees import largest_difference
from unalike.data import Federation
from unalike.engine import ClientError, Setting, engine_registry
from unalike.engine.ray import engine, pool, replay_log, session
from unalike.engine.ray.engine import RayEngine
from unalike.engine.ray.rows import OnDisk, on_disk, pack, unpack
from unalike.topology import Gossip
from unalike.trust.behaviors import SimulatedAttack

from ...aggregation.test_plain_sum import ADDING, made
from .. import toys

SIZES = [3, 6, 2, 4, 5, 3]
WORK = LocalWork(steps=2, batch_size=2)
SETTINGS = {"work": WORK, "optimizer": Optimizer("sgd", 0.2)}


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Two cores of a Ray that is ours, which the engine must use as it is."""
    ray = pytest.importorskip("ray")
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    session._init(ray, address="local", num_cpus=2)
    yield ray
    assert ray.is_initialized()
    ray.shutdown()


@pytest.fixture(scope="module")
def federation():
    return toys.federation(SIZES, [2] * 6)


def train(federation, algorithm, engine="ray:2", rounds=4, **options):
    options = {"seed": 3, "evaluate_every": 2, **options}
    return unalike.train(federation, toys.logistic_task(), algorithm, rounds=rounds, engine=engine, **options)


def gap(one, other):
    assert one.memories.tensors().keys() == other.memories.tensors().keys()
    return max(
        largest_difference(one.state, other.state),
        largest_difference(one.memories.tensors(), other.memories.tensors()),
    )


def test_without_a_server_a_cluster_is_one_machine_too(federation):
    method, ring = algorithm_registry.make("dpasgd", **SETTINGS), {"timing": Gossip("ring")}
    here, there = (train(federation, method, engine, **ring) for engine in ("local", "ray:2"))
    assert gap(here, there) < 1e-5
    ours, theirs = here.metrics(), there.metrics()
    for column in ("participants", "bytes_up", "test_accuracy"):
        np.testing.assert_array_equal(theirs[column], ours[column])
    np.testing.assert_allclose(theirs["train_loss"], ours["train_loss"], rtol=1e-5)


def test_sums_of_a_cluster_have_all_digits():
    design = made()
    run = fit_rounds(design, linear_task(design), ADDING, rounds=1, engine="ray:2")
    x = design.federation.train.x
    np.testing.assert_allclose(np.asarray(run.state["sum"]), x.T @ x, rtol=1e-13)


def test_dishonest_clients_lie_alike_in_a_cluster(federation):
    attack = SimulatedAttack.of("free-rider:decay", "2", federation)
    method = attack.algorithm(algorithm_registry.make("fedavg", **SETTINGS))
    changed = attack.federation(federation)
    assert gap(*(train(changed, method, engine, per_round=4) for engine in ("local", "ray:2"))) < 1e-5


@dataclass(frozen=True, kw_only=True)
class DeadlyScaffold(Scaffold):
    """Kills the process in which client 1 works in round 3, unless the flag says that this has happened."""

    flag: str

    def client(self, task, message, memory, data, key):
        jax.debug.callback(partial(_die, self.flag), data.round, data.client)
        return super().client(task, message, memory, data, key)


def _die(flag, round, client):
    if round == 3 and client == 1 and not Path(flag).exists():
        Path(flag).touch()
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.exact
def test_a_dead_worker_changes_no_bit(federation, tmp_path, monkeypatch):
    monkeypatch.setattr(replay_log, "FEWEST", 2)  # so that there is a snapshot before the death
    method, options = DeadlyScaffold(flag=str(tmp_path / "flag"), **SETTINGS), {"per_round": 4}
    died, lived = (train(federation, method, rounds=5, **options) for _ in range(2))  # the flag remains
    assert gap(died, lived) == 0
    [event] = [event for event in died.events() if event["kind"] == "worker restarted"]
    assert event["worker"] == died.engine.pool.owner[1]
    assert "unexpectedly exits" in event["reason"]
    assert not lived.events()
    local = train(federation, method, "local", rounds=5, **options)
    assert gap(died, local) < 1e-5
    np.testing.assert_array_equal(died.metrics()["test_accuracy"], local.metrics()["test_accuracy"])


@pytest.mark.exact
def test_a_run_whose_worker_keeps_dying_can_be_resumed(cluster, federation, tmp_path, monkeypatch):
    setting = Setting(federation, toys.logistic_task(), Scaffold(**SETTINGS), 3)
    go = partial(train, federation, setting.algorithm, per_round=3, evaluate_every=1)
    monkeypatch.setattr(pool, "MOST_DEATHS", 1)
    engine = RayEngine(2, setting=setting)
    kill = lambda report, _: report.round == 3 and cluster.kill(engine.pool.actors[1])  # noqa: E731
    with pytest.raises(RunError, match=r"worker 1 died 1 times in one round .*`unalike resume FOLDER`"):
        go(engine=engine, out=tmp_path / "run", checkpoint_every=2, observer=kill)
    resumed, whole = go(out=tmp_path / "run", resume=True), go()
    assert gap(resumed, whole) == 0
    assert resumed.metrics()["test_loss"].tolist() == whole.metrics()["test_loss"].tolist()


@dataclass(frozen=True, kw_only=True)
class Buggy(Scaffold):
    """Fails only where it is executed, not where it is traced."""

    def client(self, task, message, memory, data, key):
        if os.environ.get("UNALIKE_CORES") == "1":
            raise ValueError("the bug of the user")
        return super().client(task, message, memory, data, key)


def test_a_bug_of_the_user_is_no_dead_worker(federation, monkeypatch):
    monkeypatch.delenv("UNALIKE_CORES", raising=False)
    with pytest.raises(ClientError, match=r"failed on worker \d \(ValueError: the bug of the user\)"):
        train(federation, Buggy(**SETTINGS))


def test_an_older_run_can_still_be_asked(federation):
    older, newer = (train(federation, FedEM(**SETTINGS), seed=seed) for seed in (1, 2))
    local = train(federation, FedEM(**SETTINGS), "local", seed=1)
    for name, values in local.evaluate().items():
        np.testing.assert_allclose(older.evaluate()[name], values, rtol=1e-5)
    newer.engine.close()
    with pytest.raises(RunError, match="is closed; train or resume with a new one"):
        newer.evaluate()


@pytest.mark.exact
def test_mapped_rows_are_sent_by_name(federation, tmp_path):
    mapped = Federation.load(federation.save(tmp_path / "here"))
    setting = Setting(mapped, toys.logistic_task(), Scaffold(**SETTINGS), 0)
    wire_message = pack(setting, np.array([4, 1]))
    assert isinstance(wire_message.federation.train.x, OnDisk)
    mine = unpack(setting._replace(federation=None), wire_message).federation
    np.testing.assert_array_equal(mine.train.x, federation.subset([4, 1]).train.x)
    assert on_disk(mine.train.x) is None
    assert gap(train(mapped, setting.algorithm), train(federation, setting.algorithm)) == 0


def test_a_file_that_another_machine_does_not_have_is_named(tmp_path):
    missing = OnDisk(str(tmp_path / "x.npy"), 0, (3,), np.dtype(np.float32))
    with pytest.raises(DataError, match=r"cannot read '.*x.npy'.* all machines share.*mmap=False"):
        missing.open()


def test_a_shard_of_clients_that_do_not_count_can_be_sent(federation):
    setting = Setting(federation.with_importance([1, 0, 0, 0, 0, 0]), None, None, 0)
    wire_message = pack(setting, np.array([3, 2]))
    assert wire_message.part.importance.tolist() == [0, 0]
    assert wire_message.part.largest == max(SIZES)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("ray:0", "the number of workers must be a whole number from 1, but is 0"),
        ("ray:two", "the number of workers must be a whole number from 1, but is 'two'"),
        ("ray:1,0.5", "the number of cores per worker must be a whole number from 1, but is 0.5"),
        ("ray:3", "room for 2 workers with 1 cores each, not for 3"),
        ("ray:1,3", "room for 0 workers with 3 cores each, not for 1"),
        ("ray:1,1,1", "wrong arguments"),
    ],
)
def test_workers_that_cannot_be_are_refused(federation, spec, words):
    with pytest.raises(ConfigError, match=words):
        engine_registry.make(spec, setting=Setting(federation, toys.logistic_task(), Scaffold(**SETTINGS), 0))


def test_devices_are_cores_of_a_worker(federation):
    setting = Setting(federation, toys.logistic_task(), Scaffold(**SETTINGS), 0, devices=2)
    assert RayEngine(setting=setting).pool.cores == 2
    with pytest.raises(ConfigError, match="devices is 2, but workers have 1 cores"):
        RayEngine(2, 1, setting=setting)


def test_there_are_not_more_workers_than_clients():
    setting = Setting(toys.federation([2]), toys.logistic_task(), Scaffold(**SETTINGS), 0)
    assert len(RayEngine(setting=setting).pool.shares) == 1


def test_a_stream_is_the_same_on_a_cluster(federation):
    """Workers hold some of the clients; which rows these have depends on what they are in the whole."""
    one, other = (
        train(
            federation, Scaffold(**SETTINGS), where, stream=unalike.MemoryStream("poisson:1", "reservoir:2")
        )
        for where in ("ray:2", "local")
    )
    assert gap(one, other) < 1e-5
    predicted = [run.metrics()["prequential_loss"] for run in (one, other)]
    assert np.isfinite(predicted[0]).any()
    np.testing.assert_allclose(*predicted, atol=1e-5)


def test_without_ray_the_extra_is_named(federation, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install '\.\[ray\]'"):
        engine.RayEngine(setting=Setting(federation, None, None, 0))


class Pretended:
    """Ray, as far as it is started and shut down."""

    exceptions = SimpleNamespace(RayError=OSError)

    def __init__(self, running):
        self.running, self.calls = running, []

    def is_initialized(self):
        return self.running

    def init(self, address, **options):
        self.calls.append(address)
        self.running = True

    def shutdown(self):
        self.running = False


@pytest.mark.parametrize("running", [True, False])
def test_only_a_ray_that_was_started_here_is_shut_down(running, monkeypatch, tmp_path):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text("127.0.0.1:1")  # which has crashed
    pretended = Pretended(running)
    monkeypatch.setitem(sys.modules, "ray", pretended)
    monkeypatch.setattr(session, "_begun_here", False)  # another test may have left a real one running
    session.connect()
    assert pretended.calls == ([] if running else ["local"])
    session.disconnect()
    assert pretended.running == running


def test_an_address_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "ray", Pretended(False))
    with pytest.raises(ConfigError, match=r"the Ray cluster at RAY_ADDRESS=127.0.0.1:1 cannot be joined"):
        session.connect()


def test_workers_answer_with_tables_where_metrics_need_them(federation):
    task = replace(toys.logistic_task(), metrics=("f1", "auc", "accuracy"))
    found = [
        unalike.train(federation, task, Scaffold(**SETTINGS), rounds=1, seed=3, engine=name).evaluate()
        for name in ("ray:2", "local")
    ]
    assert found[0].keys() == found[1].keys()
    for name, values in found[1].items():
        np.testing.assert_allclose(found[0][name], values, rtol=1e-5)
