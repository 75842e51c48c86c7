"""Is a run folder that somebody changed refused by name?  (Attacks on sealed run folders.)"""

import json
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from unalike.core.run_files import SEAL
from unalike.errors import RunError
from unalike.experiments.config import make_experiment
from unalike.experiments.planned_runs import PlannedRun, check_unchanged
from unalike.experiments.run import run_experiment
from unalike.runs import RunFolder
from unalike.runs.sealed_files import verify

SETTINGS = {
    **{"data": "digits", "samples": 200, "clients": 4, "model": "linear", "rounds": 4, "batch_size": 0},
    **{"checkpoint_every": 2, "unlearning": "full", "learning_rate": 0.1},
}


def train(folder, **changed):
    run_experiment(make_experiment({**SETTINGS, **changed}), folder).folder.close()
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return train(tmp_path_factory.mktemp("trained") / "run")


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return train(tmp_path_factory.mktemp("other") / "run", seed=1)


@pytest.fixture
def run(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "run")


def replace_text(name, before, after):
    def edit(run, other):
        text = (run / name).read_text()
        assert before in text
        (run / name).write_text(text.replace(before, after, 1))

    return edit


def swap(name):
    def edit(run, other):
        shutil.copyfile(other / name, run / name)

    return edit


def swap_record(run, other):
    for path in run.glob("metrics.sqlite-*"):
        path.unlink()
    shutil.copyfile(other / "metrics.sqlite", run / "metrics.sqlite")


def forge_record(run, other):
    """An attacker who knows the digests of rounds, but not the key, makes a result better."""
    from unalike.runs.digests import seal_all

    with sqlite3.connect(run / "metrics.sqlite", isolation_level=None) as database:
        database.execute("UPDATE metrics SET value = 0.99 WHERE name = 'test_accuracy'")
        seal_all(database)
    database.close()


def forge_ledger(run, other):
    (run / "unlearning" / "requests.json").write_text('{"requests": []}')


def add_checkpoint(run, other):
    name = "checkpoints/round-00000{}.safetensors".format
    shutil.copyfile(other / name(4), run / name(9))


def forge_seal(run, other):
    """An attacker writes the digest of a changed file into the log."""
    import hashlib

    replace_text("config.toml", "seed = 0", "seed = 1")(run, other)
    digest = hashlib.sha256((run / "config.toml").read_bytes()).hexdigest()
    lines = [json.loads(line) for line in (run / SEAL).read_text().splitlines()]
    for line in lines:
        if line.get("file") == "config.toml":
            line["sha256"] = digest
    (run / SEAL).write_text("".join(json.dumps(line) + "\n" for line in lines))


EDITS = {
    "seed": ("config.toml", replace_text("config.toml", "seed = 0", "seed = 1")),
    "learning rate": ("config.toml", replace_text("config.toml", "0.1", "0.3")),
    "optimizer": ("config.toml", replace_text("config.toml", 'optimizer = "sgd"', 'optimizer = "adam"')),
    "clients": ("clients.json", replace_text("clients.json", '"version"', '"names": ["x"], "version"')),
    "model": ("model.safetensors", swap("model.safetensors")),
    "best model": ("best.safetensors", swap("best.safetensors")),
    "checkpoint": ("round-000004.safetensors", swap("checkpoints/round-000004.safetensors")),
    "another checkpoint": ("round-000009.safetensors", add_checkpoint),
    "metrics": ("metrics.sqlite", swap_record),
    "forged metrics": ("metrics.sqlite", forge_record),
    "ledger": ("requests.json", forge_ledger),
    "seal": (SEAL, forge_seal),
    "seal of another run": ("was changed", swap(SEAL)),
    "no seal": ("unalike runs seal", lambda run, other: (run / SEAL).unlink()),
    "no model": ("model.safetensors is missing", lambda run, other: (run / "model.safetensors").unlink()),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_changed_file_is_refused_by_name(run, other, edit):
    named, change = EDITS[edit]
    change(run, other)
    for read_only in (False, True):
        with pytest.raises(RunError, match=named) as refusal:
            RunFolder.open(run, read_only=read_only)
        assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("words", ["resume", "report", "export", "audit", "predict", "forget"])
def test_every_command_refuses_and_ends_with_an_error(unalike, run, other, words):
    EDITS["seed"][1](run, other)
    Path("rows.csv").write_text("x\n1\n")
    more = {"predict": ["rows.csv"], "forget": ["--client", "1"]}.get(words, [])
    answer = unalike(words, run, *more)
    assert answer.code == 2
    assert "config.toml was changed" in answer.sentence


def test_a_history_of_another_run_is_refused_before_anything_is_forgotten(unalike, run, other):
    swap("unlearning/branch-0/round-000002.safetensors")(run, other)
    answer = unalike("forget", run, "--client", "1")
    assert answer.code == 2
    assert "branch-0/round-000002.safetensors was changed" in answer.sentence
    assert (run / "model.safetensors").exists()


def test_a_comparison_does_not_reuse_a_changed_run(run, other):
    planned = PlannedRun("fedavg", make_experiment(SETTINGS), run)
    check_unchanged(planned)
    EDITS["model"][1](run, other)
    with pytest.raises(RunError, match=r"model\.safetensors was changed"):
        check_unchanged(planned)


def test_a_changed_comparison_is_refused(unalike):
    words = ("--samples", "200", "--clients", "3", "--model", "linear", "--rounds", "1", "--quiet")
    assert unalike("compare", *words, "--algorithms", "fedavg", "--seeds", "1", "--out", "out").code == 0
    asked = Path("out/comparison.toml")
    asked.write_text(asked.read_text().replace("seeds = 1", "seeds = 2"))
    answer = unalike("report", "out")
    assert answer.code == 2
    assert "comparison.toml was changed" in answer.sentence


@pytest.fixture
def longer(unalike, run, tmp_path):
    """The same run two rounds later, and a copy of how it was before."""
    older = shutil.copytree(run, tmp_path / "older")
    assert unalike("resume", run, "--rounds", "6", "--json").json["rounds"] == 6
    return run, older


def test_an_older_copy_of_a_whole_folder_passes(unalike, longer):
    """A seal shows integrity, not freshness: this is said in docs/security.md, not prevented."""
    run, older = longer
    shutil.rmtree(run)
    shutil.copytree(older, run)
    RunFolder.open(run).close()
    assert unalike("resume", run, "--rounds", "6", "--json").json["rounds"] == 6


@pytest.mark.parametrize("name", ["model.safetensors", SEAL])
def test_older_files_in_a_newer_folder_are_refused(longer, name):
    run, older = longer
    shutil.copyfile(older / name, run / name)
    with pytest.raises(RunError, match="was changed"):
        RunFolder.open(run)


def test_an_older_record_of_the_same_run_passes(longer):
    """Not prevented, either: the record has a seal of its own, and says how many rounds it holds."""
    run, older = longer
    swap_record(run, older)
    with RunFolder.open(run, read_only=True) as opened:
        assert opened.record.last_round() == 4


def test_an_intended_edit_is_shown_and_sealed(unalike, run):
    replace_text("config.toml", "rounds = 4", "rounds = 6")(run, None)
    shown = unalike("runs", "seal", run, "--json").json
    assert shown["changes"] == {"config.toml": "changed"}
    assert not shown["sealed"]
    assert unalike("resume", run, "--quiet").code == 2
    answer = unalike("runs", "seal", run, "--yes")
    assert "changed: config.toml" in answer.out
    assert unalike("resume", run, "--json").json["rounds"] == 6
    assert unalike("runs", "seal", run, "--json").json["changes"] == {}


def test_sealing_does_not_make_another_experiment_resume(unalike, run):
    replace_text("config.toml", "learning_rate = 0.1", "learning_rate = 0.3")(run, None)
    assert unalike("runs", "seal", run, "--yes").code == 0
    assert "cannot be resumed" in unalike("resume", run, "--quiet").sentence


def test_a_folder_of_another_user_is_read_with_a_warning_and_never_written(
    unalike, run, monkeypatch, tmp_path
):
    with monkeypatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path / "somebody"))
        answer = unalike("runs", "compare", run, run)
        assert answer.code == 0
        with pytest.warns(UserWarning, match="sealed by another key"):
            RunFolder.open(run, read_only=True).close()
        answer = unalike("resume", run, "--quiet")
        assert answer.code == 2
        assert "sealed by another key" in answer.sentence
        assert "unalike runs seal" in answer.sentence
        assert unalike("runs", "seal", run, "--yes").code == 0
        assert unalike("resume", run, "--rounds", "5", "--json").json["rounds"] == 5
    assert "sealed by another key" in unalike("resume", run, "--quiet").sentence


def test_digests_of_a_received_folder_are_verified(run, other, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "somebody"))
    EDITS["model"][1](run, other)
    with pytest.raises(RunError, match=r"model\.safetensors was changed"):
        RunFolder.open(run, read_only=True)


@pytest.mark.parametrize("name", ["model.safetensors", "plots", "rounds.jsonl", "lock"])
def test_links_are_not_followed(run, name, tmp_path):
    target = tmp_path / "target"
    target.write_text("precious")
    path = run / name
    if path.is_file():
        path.unlink()
    path.symlink_to(target)
    with pytest.raises(RunError, match="is a link"):
        RunFolder.open(run, read_only=True)
    assert target.read_text() == "precious"


def test_files_are_their_owners_alone(unalike, tiny):
    folder = tiny("--track", "jsonl", "--checkpoint-every", "2")
    for path in [folder, *folder.rglob("*")]:
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path


def test_the_key_is_private_and_made_once(monkeypatch, tmp_path):
    from unalike.runs.seal_key import key_path, user_key

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert user_key() == user_key()
    assert stat.S_IMODE(key_path().stat().st_mode) == 0o600
    key_path().chmod(0o644)
    with pytest.raises(RunError, match="chmod 600"):
        user_key()


def test_without_a_place_for_the_key_seals_are_plain_digests(run, other, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="no key can be kept"):
        made = RunFolder.create(tmp_path / "plain", {"seed": 0})
    made.record.write_round(0, {"loss": 1.0})
    made.close()
    RunFolder.open(tmp_path / "plain").close()
    replace_text("config.toml", "seed = 0", "seed = 1")(tmp_path / "plain", None)
    with pytest.raises(RunError, match=r"config\.toml was changed"):
        RunFolder.open(tmp_path / "plain")


def test_a_run_made_in_two_moments_is_the_same_but_for_its_name(trained, tmp_path):
    again = train(tmp_path / "again")
    for name in ("model.safetensors", "best.safetensors", "clients.json"):
        assert (again / name).read_bytes() == (trained / name).read_bytes()
    assert verify(again).run != verify(trained).run


def test_old_runs_are_listed_and_named(unalike, run):
    (run / SEAL).unlink()
    assert [found["state"] for found in unalike("runs", "list", run, "--json").json] == ["unsealed"]
    answer = unalike("runs", "seal", run, "--yes")
    assert answer.code == 0
    assert [found["state"] for found in unalike("runs", "list", run, "--json").json] == ["finished"]
