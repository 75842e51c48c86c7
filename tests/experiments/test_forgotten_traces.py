"""Is anything left that was computed from a client that was forgotten?"""

import json
import shutil
import sqlite3

import numpy as np
import pytest

from unalike.core.run_files import BEST, FACTS, MODEL, RECORD, UNLEARNING
from unalike.errors import ConfigError, RunError
from unalike.experiments import forget as forgetting
from unalike.experiments.audit import audit
from unalike.experiments.build import make_federation
from unalike.experiments.config import make_experiment
from unalike.experiments.forget import forget, resume_forgetting
from unalike.experiments.open import open_run as open_finished
from unalike.experiments.run import run_experiment
from unalike.runs import RunFolder
from unalike.runs.overview import find_waste, look_at
from unalike.trust.unlearning.calibration import Budget

WORDS = {
    "data": "digits",
    "samples": 300,
    "clients": 5,
    "partition": "classes:2",
    "model": "linear",
    "rounds": 12,
    "steps": 3,
    "batch_size": 0,
    "learning_rate": 0.3,
    "unlearning": "full",
    "checkpoint_every": 4,
}
SMALL = Budget(1, 0.01, 1e-3)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    run_experiment(make_experiment(WORDS), folder).folder.close()
    return folder


@pytest.fixture
def folder(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    return tmp_path / "run"


def accuracy(folder, client, model):
    x, y = make_federation(make_experiment(WORDS)).train.client(client)
    return float((open_finished(folder, model=model).predict(x) == y).mean())


def forgotten_digit():
    """A client with a digit that nobody else has, so that only it can have taught that digit."""
    counts = make_federation(make_experiment(WORDS)).label_counts()
    alone = (counts > 0) & ((counts > 0).sum(axis=0) == 1)
    return int(np.argmax(np.where(alone, counts, 0).sum(axis=1)))


def test_no_model_in_the_folder_knows_the_client_any_more(folder):
    client = forgotten_digit()
    before = accuracy(folder, client, "best")
    for page in ("report.html", "similarity.json", "rounds.jsonl"):
        (folder / page).write_text("made of all clients")
    (folder / "plots").mkdir(exist_ok=True)
    (folder / "plots" / "clients.png").write_bytes(b"made of all clients")
    forget(folder, [str(client)], SMALL).run.folder.close()
    other = str((client + 1) % 5)
    assert before > 0.9
    assert accuracy(folder, client, "best") < before / 2
    assert accuracy(folder, client, "last") < before / 2
    assert not (folder / "report.html").exists()
    assert not (folder / "similarity.json").exists()
    assert not list(folder.rglob("*.png"))
    assert not (folder / "checkpoints").exists()
    forget(folder, [other], SMALL, rounds=2).run.folder.close()
    assert not (folder / UNLEARNING / "retraining-1").exists()


def test_what_was_measured_of_the_client_is_not_in_the_record(folder):
    with RunFolder.open(folder, read_only=True) as opened:
        before = opened.record.metrics()["train_loss"]
        assert set(opened.record.client_metrics()["client"]) == {0, 1, 2, 3, 4}
    one = np.float64(before[-1]).tobytes()[::-1]  # as SQLite writes it
    assert one in (folder / RECORD).read_bytes() + _side_file(folder)
    forget(folder, ["2"], SMALL, rounds=3).run.folder.close()
    with RunFolder.open(folder, read_only=True) as opened:
        opened.record.check()
        assert opened.record.last_round() == 3
        assert set(opened.record.client_metrics()["client"]) == {0, 1, 3, 4}
    assert one not in (folder / RECORD).read_bytes() + _side_file(folder)
    assert json.loads((folder / FACTS).read_text())["rows"]["train"][2] == 0
    rows = make_federation(make_experiment(WORDS))
    everything = (folder / RECORD).read_bytes() + _side_file(folder)
    assert rows.train.digest.encode() not in everything
    assert rows.without_rows([2]).train.digest.encode() in everything
    found = look_at(folder)
    assert (found.forgotten, found.state, found.rounds) == (1, "finished", 3)


def _side_file(folder):
    path = folder / f"{RECORD}-wal"
    return path.read_bytes() if path.exists() else b""


def test_an_interrupted_request_has_no_trace_either_and_is_no_waste(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(forgetting, "retrain", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            forget(folder, ["2"], SMALL, rounds=2)
    for name in (MODEL, BEST, FACTS, "checkpoints"):
        assert not (folder / name).exists()
    found = look_at(folder)
    assert (found.state, found.forgotten, found.metrics) == ("forgetting", 1, {})
    assert find_waste(found) is None
    with pytest.raises(RunError, match="is forgetting clients"):
        open_finished(folder)
    resume_forgetting(folder).run.folder.close()
    assert look_at(folder).state == "finished"


def test_the_certificate_says_what_remains(folder):
    certificate = forget(folder, ["2"], Budget(1, 0.01, 100.0), rounds=1, quality=True).certificate
    said = " ".join(certificate.remains)
    for word in ("earlier models", "norm", "journal", "quality", "backups", "digests of files"):
        assert word in said
    again = forget(folder, ["1"], SMALL, rounds=1).certificate
    assert "quality" in " ".join(again.remains)


def test_rows_of_forgotten_clients_are_not_read_again(folder):
    forget(folder, ["2"], SMALL, rounds=2).run.folder.close()
    again = open_finished(folder, data=True)
    assert again.setting.federation.train.sizes[2] == 0
    with pytest.raises(RunError, match="must not be read again"):
        audit(folder, references=4)


def test_a_run_that_can_forget_can_be_audited(folder):
    assert audit(folder, references=4, rows=60).utility.value > 0


@pytest.mark.parametrize(
    "words",
    [
        {"behavior": "sign-flip"},
        {"behavior": "free-rider:decay", "dishonest": "2"},
        {"dropout": 0.2},
        {"timeout": 3.0},
        {"until": 5.0, "rounds": None},
    ],
)
def test_rounds_that_are_more_than_a_mean_and_unlearning_are_refused_in_a_sentence(tmp_path, words):
    with pytest.raises(ConfigError, match="is not possible with unlearning"):
        run_experiment(make_experiment({**WORDS, **words}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_file_of_the_record_stays_sound(folder):
    forget(folder, ["2"], SMALL, rounds=1).run.folder.close()
    with sqlite3.connect(folder / RECORD) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
