"""Is it written down who was used, available, asked and excluded, also by a run that was stopped?"""

import sqlite3
from pathlib import Path

import numpy as np
import pytest

import unalike.training.recorder
from unalike import Cohort, FedAvg, Full, LocalWork, Participation, Task, load, models, train
from unalike.experiments.build import make_federation, make_task
from unalike.experiments.config import make_experiment
from unalike.experiments.run import run_experiment
from unalike.participation import Intermittent, Multinomial, Trace
from unalike.runs import Record, RunFolder

PLAIN = FedAvg(work=LocalWork(steps=2, batch_size=8))


@pytest.fixture(scope="module")
def federation():
    return load("digits", clients=9, partition="dirichlet:0.5", samples=360, seed=1)


@pytest.fixture(scope="module")
def task():
    return Task.classification(models.linear(input_shape=(8, 8, 1), outputs=10), classes=10)


def lists(groups):
    return {round: clients.tolist() for round, clients in groups.items()}


# The record.


def test_groups_come_back_in_the_order_of_rounds_and_of_clients(tmp_path):
    with Record(tmp_path / "m.sqlite") as record:
        record.write_round(2, {}, groups={"used": np.array([4, 0, 7]), "available": np.arange(9)})
        record.write_round(1, {}, groups={"used": np.zeros(0, np.int64)})
        record.write_round(3, {})
        assert list(record.groups("used")) == [1, 2]
        assert lists(record.groups("used")) == {1: [], 2: [4, 0, 7]}
        assert lists(record.groups("available")) == {2: list(range(9))}
        assert record.groups("nothing") == {}
        assert record.groups("used")[2].dtype == np.int64


def test_groups_are_read_from_disk_and_can_be_changed_by_the_reader(tmp_path):
    with Record(tmp_path / "m.sqlite") as record:
        record.write_round(1, {}, groups={"used": np.array([2_000_000_000])})
    found = Record(tmp_path / "m.sqlite", read_only=True).groups("used")
    assert lists(found) == {1: [2_000_000_000]}
    found[1][0] = 3


def test_writing_a_group_again_replaces_it_and_rewinding_forgets_it():
    record = Record(":memory:")
    for round in range(4):
        record.write_round(round, {}, groups={"used": np.array([round]), "asked_loss": np.array([9])})
    record.write_round(1, {}, groups={"used": np.array([8, 7])})
    record.rewind(2)
    assert lists(record.groups("used")) == {0: [0], 1: [8, 7], 2: [2]}
    assert list(record.groups("asked_loss")) == [0, 1, 2]


# Trainings.


class Remembering(Participation):
    """Draws as another one does, and remembers the cohorts."""

    def __init__(self, sampler):
        self.sampler, self.drawn = sampler, {}

    def cohort(self, turn):
        cohort = self.sampler.cohort(turn)
        self.drawn[turn.number + 1] = cohort.clients.tolist()
        return cohort


@pytest.mark.parametrize("evaluate_every", [0, 1])
def test_the_clients_of_every_round_are_listed_however_many_rounds_are_computed_at_once(
    federation, task, evaluate_every
):
    sampler = Remembering(Multinomial(per_round=3))
    run = train(federation, task, PLAIN, rounds=7, participation=sampler, evaluate_every=evaluate_every)
    assert lists(run.record.groups("used")) == sampler.drawn
    assert list(sampler.drawn) == list(range(1, 8))


def test_everyone_is_listed_when_everyone_takes_part(federation, task):
    run = train(federation, task, PLAIN, rounds=2, participation=Full())
    assert lists(run.record.groups("used")) == {1: list(range(9)), 2: list(range(9))}


def test_large_groups_are_counted_but_not_listed(federation, task, monkeypatch):
    monkeypatch.setattr(unalike.training.recorder, "MOST_LISTED", 3)
    trace = Trace(np.array([[True] * 9, [True] * 3 + [False] * 6]))
    run = train(federation, task, PLAIN, rounds=2, participation=Intermittent(trace))
    assert list(run.record.groups("available")) == [2]
    assert run.metrics()["available"].tolist()[1:] == [9, 3]


def test_what_a_participation_notes_is_listed_and_counted_under_its_own_name(federation, task):
    class Noting(Participation):
        def cohort(self, turn):
            return Cohort(np.array([0, 2]), np.full(2, 0.5), {"charging": np.array([1, 2, 3])})

    run = train(federation, task, PLAIN, rounds=2, participation=Noting())
    assert lists(run.record.groups("charging")) == {1: [1, 2, 3], 2: [1, 2, 3]}
    assert run.metrics()["charging"].tolist()[1:] == [3, 3]


def test_a_round_without_clients_lists_nobody(federation, task):
    trace = Trace(np.array([[True] * 9, [False] * 9, [True] * 9]))
    run = train(federation, task, PLAIN, rounds=3, participation=Intermittent(trace))
    assert lists(run.record.groups("used"))[2] == lists(run.record.groups("available"))[2] == []
    assert run.metrics()["participants"].tolist()[1:] == [9, 0, 9]


# Runs that were stopped.

BASE = {
    **{"data": "digits", "clients": 8, "partition": "dirichlet:0.3", "samples": 240, "seed": 3},
    **{"model": "mlp:4", "steps": 2, "batch_size": 8, "rounds": 8},
    **{"evaluate_every": 4, "checkpoint_every": 3},
}
KINDS = {
    "clustered-similarity": {"sampling": "clustered-similarity", "per_round": 3},
    "power-of-choice": {"sampling": "power-of-choice:5,4", "per_round": 3},
    "ca-fed": {"availability": "markov:0.4,0.6", "participation": "ca-fed:0.05,running"},
    "f3ast": {"availability": "diurnal:4", "participation": "f3ast", "sampling": "md", "per_round": 3},
}
TABLES = {
    "rounds": "round",
    "metrics": "round, name",
    "client_metrics": "round, name, position",
    "events": "round, kind, client, detail",
    "groups": "round, name",
}


def rows(path, table):
    database = sqlite3.connect(Path(path) / "metrics.sqlite")
    try:
        return database.execute(f"SELECT * FROM {table} ORDER BY {TABLES[table]}").fetchall()
    finally:
        database.close()


def assert_same(path, other):
    """The same model byte for byte, and the same record row by row."""
    one, two = ((Path(p) / "model.safetensors").read_bytes() for p in (path, other))
    assert one == two
    for table in TABLES:
        assert rows(path, table) == rows(other, table), table


@pytest.fixture(scope="module")
def run():
    """Run an experiment; all of them share clients and model, so that they are compiled once."""
    experiment = make_experiment(BASE)
    federation = make_federation(experiment)
    nouns = {"federation": federation, "task": make_task(experiment, federation)}
    return lambda values, *words, **rest: run_experiment(make_experiment(values), *words, **nouns, **rest)


@pytest.mark.exact
@pytest.mark.parametrize("kind", KINDS)
def test_a_stopped_run_goes_on_as_if_nothing_had_happened(run, tmp_path, kind):
    """Stopped after round 5, it goes back to its checkpoint of round 3; the same groups are written again."""

    def crash(report, _):
        if report.round == 5:
            raise ZeroDivisionError

    values = {**BASE, **KINDS[kind]}
    run(values, tmp_path / "whole").folder.close()
    with pytest.raises(ZeroDivisionError):
        run(values, tmp_path / "stopped", observer=crash)
    with RunFolder.open(tmp_path / "stopped") as folder:
        assert folder.checkpoints.rounds() == [3]
        run(folder.config, folder, resume=True)
    assert_same(tmp_path / "whole", tmp_path / "stopped")
    assert [round for round, name, *_ in rows(tmp_path / "whole", "groups") if name == "used"] == [
        *range(1, 9)
    ]


@pytest.mark.exact
def test_a_run_without_rounds_can_go_on_later(run, tmp_path):
    """Nobody was there yet, nothing was heard: that state is saved and read as well."""
    values = {**BASE, **KINDS["ca-fed"]}
    run({**values, "rounds": 0}, tmp_path / "run").folder.close()
    with RunFolder.open(tmp_path / "run") as folder:
        run({**folder.config, "rounds": 4}, folder, resume=True)
    run({**values, "rounds": 4}, tmp_path / "whole").folder.close()
    assert_same(tmp_path / "whole", tmp_path / "run")


@pytest.mark.exact
def test_the_same_participation_trains_twice_alike(federation, task):
    trace = Trace(np.random.default_rng(0).random((4, 9)) < 0.6)
    participation = Intermittent(trace)
    first, second = (train(federation, task, PLAIN, rounds=4, participation=participation) for _ in range(2))
    assert lists(first.record.groups("used")) == lists(second.record.groups("used"))
    assert np.array_equal(first.metrics()["train_loss"][1:], second.metrics()["train_loss"][1:])
