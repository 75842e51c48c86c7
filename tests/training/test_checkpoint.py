"""Does a run that was stopped go on as if nothing had happened?

Stopped by `kill -9` at any moment, by Ctrl-C, by a damaged checkpoint or by a full disk: the model has the
same bytes as that of a run that was never stopped, and the record has the same rows.
"""

import errno
import os
import pickle
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import unalike.runs.tensors
from unalike import FedAvg, Federation, RunError, Task, UnalikeError, load, models, train
from unalike.cli import main
from unalike.experiments.config import make_experiment
from unalike.experiments.run import run_experiment
from unalike.runs import RunFolder
from unalike.runs.sealed_files import seal_again

from .interrupts import asked_at

LONG = {
    **{"data": "digits", "clients": 8, "partition": "dirichlet:0.3", "model": "linear", "seed": 3},
    **{"rounds": 400, "per_round": 3, "steps": 2, "batch_size": 8},
    **{"evaluate_every": 30, "checkpoint_every": 7},
}
SHORT = {**LONG, "rounds": 12, "evaluate_every": 4, "checkpoint_every": 3}
TABLES = {
    "rounds": "round",
    "metrics": "round, name",
    "client_metrics": "round, name, position",
    "events": "round, kind, client, detail",
}


def options(values):
    """The same experiment as words of a command line."""
    return [word for name, value in values.items() for word in (f"--{name.replace('_', '-')}", str(value))]


@pytest.fixture
def program():
    """Start `unalike` in a process of its own, which does not outlive the test."""
    started = []

    def start(*words):
        command = [sys.executable, "-m", "unalike", *map(str, words)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


def wait_for(found, process, seconds=60):
    """Wait until something is there, as long as the process lives."""
    deadline = time.monotonic() + seconds
    while not found():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.002)


def whole_run(path, values):
    """A run that nothing interrupts."""
    run_experiment(make_experiment(values), path).folder.close()
    return path


def resume(path, **changes):
    """What `unalike resume` does, in this process."""
    folder = RunFolder.open(path)
    experiment = make_experiment({**folder.config, **changes})
    try:
        return run_experiment(experiment, folder, resume=True)
    finally:
        folder.close()


def cut_short(path, values, after):
    """A run that ends with an error after some rounds, as a crash in the observer would end it."""

    def crash(report, _):
        if report.round == after:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_experiment(make_experiment(values), path, observer=crash)
    return path


def rows(path, table):
    """The rows of a table of the record, in an order that does not depend on how they were written."""
    database = sqlite3.connect(Path(path) / "metrics.sqlite")
    try:
        return database.execute(f"SELECT * FROM {table} ORDER BY {TABLES[table]}").fetchall()
    finally:
        database.close()


def model(path):
    return (Path(path) / "model.safetensors").read_bytes()


def assert_same(path, other):
    """The same model byte for byte, and the same record row by row."""
    assert model(path) == model(other)
    for table in TABLES:
        assert rows(path, table) == rows(other, table)


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """A short run that nothing interrupted."""
    return whole_run(tmp_path_factory.mktemp("short") / "run", SHORT)


@pytest.fixture(scope="module")
def stopped_once(tmp_path_factory):
    """The same run, stopped after ten rounds; it has checkpoints of rounds 6 and 9."""
    path = cut_short(tmp_path_factory.mktemp("stopped") / "run", SHORT, after=10)
    with RunFolder.open(path) as folder:
        assert folder.checkpoints.rounds() == [6, 9]
    return path


@pytest.fixture
def stopped(stopped_once, tmp_path):
    """A copy of the stopped run, to be damaged."""
    return shutil.copytree(stopped_once, tmp_path / "run")


@pytest.mark.exact
@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm": "scaffold"},
        {"stream": "poisson:0.2,0.25", "memory": "reservoir:30", "stream_weights": "fixed:0.5"},
    ],
    ids=lambda changes: next(iter(changes.values())),
)
def test_kill_9_at_any_moment_changes_nothing(program, tmp_path, changes):
    values = {**LONG, **changes}
    path, sleeps = tmp_path / "killed", random.Random(str(changes))
    command = ["run", *options(values), "--out", path]
    for _ in range(2):
        process = program(*command, "--quiet")
        checkpoints = set(path.glob("checkpoints/round*"))
        wait_for(lambda before=checkpoints: set(path.glob("checkpoints/round*")) - before, process)
        time.sleep(sleeps.uniform(0, 0.12))
        process.kill()
        process.communicate()
        command = ["resume", path]
    assert not RunFolder.open(path, read_only=True).finished, "the run was too short to be killed"
    resume(path)
    assert_same(path, whole_run(tmp_path / "whole", values))


@pytest.mark.exact
@pytest.mark.slow
def test_ctrl_c_saves_the_round_at_hand_and_another_process_must_wait(program, tmp_path, monkeypatch, capsys):
    path = tmp_path / "run"
    process = program("run", *options({**LONG, "checkpoint_every": 0, "rounds": 100000}), "--out", path)
    wait_for(lambda: (path / "config.toml").exists() and len(rows(path, "rounds")) > 20, process)
    process.send_signal(signal.SIGSTOP)
    monkeypatch.setattr(sys, "argv", ["unalike", "resume", str(path)])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert (
        " ".join(capsys.readouterr().err.split())
        == f"error: run folder {path} is in use by process {process.pid}."
    )
    process.send_signal(signal.SIGCONT)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "unalike resume" in err
    assert "Traceback" not in err
    with RunFolder.open(path, read_only=True) as folder:
        (saved,) = folder.checkpoints.rounds()
    assert rows(path, "rounds") == [(round,) for round in range(saved + 1)]
    goal = {"rounds": saved + 5, "evaluate_every": 0}
    resume(path, **goal)
    assert model(path) == model(whole_run(tmp_path / "whole", {**LONG, **goal}))


def test_ctrl_c_just_before_the_checkpoint_loses_no_round(tmp_path, monkeypatch):
    """The signal may arrive between any two lines: each reading of the flag may be the first to see it."""
    # SCAFFOLD's clients remember, so its rounds go to the engine one by one.
    values = {**SHORT, "algorithm": "scaffold", "evaluate_every": 0, "checkpoint_every": 0}
    experiment = make_experiment(values)
    for reading in range(1, 5):
        path = tmp_path / str(reading)
        monkeypatch.setattr("unalike.training.execute.Interrupts", asked_at(reading))
        with pytest.raises(KeyboardInterrupt):
            run_experiment(experiment, path)
        with RunFolder.open(path, read_only=True) as folder:
            saved = folder.checkpoints.rounds()[-1]
        assert rows(path, "rounds") == [(round,) for round in range(saved + 1)]


def test_resuming_a_finished_run_changes_nothing(tmp_path, short):
    shutil.copytree(short, tmp_path / "again")
    resume(tmp_path / "again")
    assert_same(tmp_path / "again", short)
    assert RunFolder.open(tmp_path / "again", read_only=True).finished


@pytest.mark.exact
def test_a_run_stopped_before_its_first_checkpoint_starts_again(tmp_path, short):
    path = cut_short(tmp_path / "run", SHORT, after=1)
    assert RunFolder.open(path, read_only=True).checkpoints.rounds() == []
    resume(path)
    assert_same(path, short)


@pytest.mark.exact
@pytest.mark.parametrize("algorithm", ["scaffold", "local", "fedadam"])
def test_more_rounds_equal_a_run_that_was_configured_with_them(tmp_path, algorithm):
    values = {**SHORT, "algorithm": algorithm}
    longer = {**values, "rounds": 16}
    path = whole_run(tmp_path / "run", values)
    resume(path, rounds=16)
    assert_same(path, whole_run(tmp_path / "longer", longer))


@pytest.mark.exact
def test_a_run_longer_than_its_configuration_resumes_or_says_why_not(tmp_path):
    """`unalike resume --rounds 14`, and later `unalike resume` where the configuration says 12."""
    path = whole_run(tmp_path / "run", SHORT)
    resume(path, rounds=14)
    try:
        resume(path)
    except UnalikeError as error:
        assert "14" in str(error)  # noqa: PT017
    whole = whole_run(tmp_path / "whole", {**SHORT, "rounds": 14})
    assert model(path) == model(whole)


def test_fewer_rounds_than_are_done_are_refused_and_change_nothing(tmp_path, short):
    shutil.copytree(short, tmp_path / "run")
    with pytest.raises(UnalikeError, match="12"):
        resume(tmp_path / "run", rounds=5)
    assert_same(tmp_path / "run", short)


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path):
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


def empty(path):
    path.write_bytes(b"")


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


def bomb(path):
    path.write_bytes(pickle.dumps(Bomb(path.parents[2] / "exploded")))


@pytest.mark.exact
@pytest.mark.parametrize("damage", [truncate, flip, empty, bomb])
def test_a_damaged_checkpoint_is_skipped_and_written_down(stopped, short, damage):
    damage(stopped / "checkpoints" / "round-000009.safetensors")
    run = resume(stopped)
    assert model(stopped) == model(short)
    assert rows(stopped, "metrics") == rows(short, "metrics")
    assert rows(stopped, "client_metrics") == rows(short, "client_metrics")
    assert rows(stopped, "events") == [(6, "damaged checkpoint", None, '{"skipped": 9}')]
    assert run.folder.path == stopped
    assert not (stopped.parent / "exploded").exists()


def test_when_every_checkpoint_is_damaged_a_person_is_told(stopped):
    for path in (stopped / "checkpoints").glob("*.safetensors"):
        flip(path)
    before = rows(stopped, "metrics")
    with pytest.raises(RunError, match=r"all 2 checkpoints in .* are damaged; start the run again"):
        resume(stopped)
    assert rows(stopped, "metrics") == before


def test_a_model_that_is_a_pickle_is_not_run(stopped):
    bomb_file = stopped / "model.safetensors"
    bomb_file.write_bytes(pickle.dumps(Bomb(stopped.parent / "exploded")))
    with pytest.raises(RunError, match=r"model\.safetensors was changed"):
        RunFolder.open(stopped)
    seal_again(stopped)
    with (
        RunFolder.open(stopped) as folder,
        pytest.raises(RunError, match="damaged or not a safetensors file"),
    ):
        folder.load_model({})
    assert not (stopped.parent / "exploded").exists()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("config.toml", None, "is not a run folder"),
        ("config.toml", b"\xff\x00 rounds", "was changed"),
        ("config.toml", b"rounds = [", "was changed"),
        ("metrics.sqlite", None, "is missing or empty"),
        ("metrics.sqlite", b"", "is missing or empty"),
        ("metrics.sqlite", pickle.dumps(Bomb("exploded")), "is damaged"),
    ],
)
def test_a_damaged_folder_is_refused_in_one_sentence(stopped, name, content, words, monkeypatch):
    monkeypatch.chdir(stopped.parent)
    for path in stopped.glob("metrics.sqlite-*" if name == "metrics.sqlite" else "nothing"):
        path.unlink()
    (stopped / name).unlink()
    if content is not None:
        (stopped / name).write_bytes(content)
    with pytest.raises(RunError, match=words) as refusal:
        resume(stopped)
    assert str(refusal.value).count("\n") == 0
    assert not Path("exploded").exists()


def test_a_checkpoint_of_another_model_is_refused(stopped):
    config = stopped / "config.toml"
    config.write_text(config.read_text().replace('"linear"', '"mlp:3"'))
    seal_again(stopped)
    with pytest.raises(RunError, match=r"cannot be resumed: task\.model"):
        resume(stopped)


@pytest.mark.exact
def test_a_full_disk_leaves_the_earlier_checkpoint_and_the_run_goes_on_later(tmp_path, monkeypatch, short):
    save, saved = unalike.runs.tensors.save_file, []

    def full_after_two(tensors, path, metadata):
        if "round-" not in Path(path).name:  # the best model has room enough
            return save(tensors, path, metadata)
        if len(saved) == 2:
            Path(path).write_bytes(b"half of i")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        saved.append(path)
        return save(tensors, path, metadata)

    path = tmp_path / "run"
    monkeypatch.setattr(unalike.runs.tensors, "save_file", full_after_two)
    with pytest.raises(UnalikeError, match="disk full") as error:
        run_experiment(make_experiment(SHORT), path)
    monkeypatch.undo()
    assert "\n" not in str(error.value)
    assert [p.name for p in sorted((path / "checkpoints").iterdir())] == [
        f"round-00000{round}.safetensors" for round in (3, 6)
    ]
    assert rows(path, "metrics") == [row for row in rows(short, "metrics") if row[0] <= 9]
    resume(path)
    assert_same(path, short)


@pytest.mark.exact
def test_python_resumes_what_python_made(tmp_path):
    x = np.eye(6)
    federation = Federation.from_clients({"a": (x, np.arange(6) % 2), "b": (x, np.arange(6) % 3)})
    task = Task.classification(models.linear(input_shape=(6,), outputs=3), classes=3)
    train(federation, task, FedAvg(), rounds=2, out=tmp_path / "run").folder.close()
    run = train(federation, task, FedAvg(), rounds=4, out=tmp_path / "run", resume=True)
    assert run.rounds == 4
    whole = train(federation, task, FedAvg(), rounds=4, out=tmp_path / "whole")
    assert model(tmp_path / "run") == model(whole.folder.path)


def test_resuming_without_a_folder_is_a_mistake_that_is_explained():
    task = Task.classification(models.linear(input_shape=(8, 8, 1), outputs=10), classes=10)
    with pytest.raises(UnalikeError, match="out"):
        train(load("digits", clients=3), task, FedAvg(), rounds=1, resume=True)
