"""Are observers told of the beginning, every round and the end, whatever the end is?"""

import json
import sys
from types import SimpleNamespace

import pytest

import unalike
from unalike.core.run_files import ROUNDS
from unalike.errors import ConfigError
from unalike.training.trackers import make_trackers

FEDERATION = unalike.load("digits", clients=3, samples=60)
MODEL = unalike.models.linear(input_shape=(8, 8, 1), outputs=10)
TASK = unalike.Task.classification(MODEL, classes=10)


def train(observer, **rest):
    return unalike.train(
        FEDERATION, TASK, unalike.FedAvg(), **{"rounds": 2, "evaluate_every": 1, **rest}, observer=observer
    )


class Noted:
    """Writes down what it is told."""

    def __init__(self, fails=False):
        self.told, self.fails = [], fails

    def begin(self, about):
        self.told.append(("begin", about.name))

    def __call__(self, report, rounds):
        self.told.append((report.round, rounds))
        if self.fails and report.round == 1:
            raise KeyboardInterrupt

    def end(self, run):
        self.told.append(("end", None if run is None else run.rounds))


def test_several_observers_are_told_the_same():
    noted, rounds = Noted(), []
    train([noted, lambda report, of: rounds.append(report.round)])
    assert noted.told == [("begin", "fedavg"), (0, 2), (1, 2), (2, 2), ("end", 2)]
    assert rounds == [0, 1, 2]


def test_an_end_by_interruption_is_an_end():
    noted = Noted(fails=True)
    with pytest.raises(KeyboardInterrupt):
        train(noted)
    assert noted.told[-1] == ("end", None)


def test_rounds_as_lines_of_json_go_on_with_the_run(tmp_path):
    train(make_trackers("jsonl"), out=tmp_path / "run")
    train(make_trackers("jsonl"), out=tmp_path / "run", resume=True, rounds=3)
    lines = [json.loads(line) for line in (tmp_path / "run" / ROUNDS).read_text().splitlines()]
    assert [line["round"] for line in lines] == [0, 1, 2, 3]
    assert lines[-1]["test_loss"] > 0
    with pytest.raises(ConfigError, match="jsonl needs a run folder"):
        train(make_trackers("jsonl"))


def test_tensorboards_files_hold_the_metrics(tmp_path):
    pytest.importorskip("tensorboardX")
    train(make_trackers(f"tensorboard:{tmp_path}"))
    (file,) = tmp_path.rglob("events.out.tfevents*")
    assert b"test_loss" in file.read_bytes()


class Library:
    """A tracker's library that writes down how it is called; all of its parts are itself."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        def call(*given, **named):
            self.calls.append((name, given, named))
            return self

        return call


@pytest.mark.parametrize(
    ("tracker", "module", "begins", "logs", "ends"),
    [
        ("tensorboard", "tensorboardX", "SummaryWriter", "add_scalar", "close"),
        ("mlflow", "mlflow", "start_run", "log_metrics", "end_run"),
        ("wandb", "wandb", "init", "log", "finish"),
    ],
)
def test_trackers_are_called_as_their_libraries_want(monkeypatch, tracker, module, begins, logs, ends):
    library = Library()
    monkeypatch.setitem(sys.modules, module, library)
    (made,) = make_trackers(tracker)
    made.begin(SimpleNamespace(name="run", words={"rounds": 2, "skew": None}, folder=None, done=0))
    made(SimpleNamespace(round=1, metrics={"test_loss": 0.5, "test_f1": float("nan")}, events=[]), 2)
    made.end(None)
    names = [name for name, _, _ in library.calls]
    assert [names.count(name) for name in (begins, logs, ends)] == [1, 1, 1]
    assert "test_f1" not in str(library.calls)


def test_a_library_that_will_not_start_is_one_sentence_and_those_before_it_are_ended(monkeypatch):
    noted, library = Noted(), Library()
    library.login = library.set_experiment = lambda *given: None
    monkeypatch.setitem(sys.modules, "wandb", library)
    (made,) = make_trackers("wandb")
    library.init = library.set_experiment = library.login = lambda *given, **named: 1 / 0
    with pytest.raises(ConfigError, match="Weights & Biases cannot be started: division by zero"):
        train([noted, made])
    assert noted.told == [("begin", "fedavg"), ("end", None)]
    monkeypatch.setitem(sys.modules, "mlflow", library)
    for name in ("wandb", "mlflow"):  # before a run has a folder
        with pytest.raises(ConfigError, match="cannot be started"):
            make_trackers(name)


def test_a_tracker_that_is_not_installed_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(ConfigError, match=r"\.\[wandb\]"):
        make_trackers("wandb")


def test_a_progress_bar_ends_with_the_last_round():
    bar = unalike.ProgressBar()
    train(bar)
    (task,) = bar._progress.tasks
    assert (task.completed, task.total) == (2, 2)
    assert "test accuracy" in task.fields["words"]
