"""A run folder says what was asked, keeps what happened, and is never destroyed by mistake."""

from pathlib import Path

import numpy as np
import pytest

from unalike.errors import RunError
from unalike.runs import RunFolder, lock_folder, versions

CONFIG = {
    "algorithm": "fedavg",
    "rounds": 3,
    "seed": None,
    "data": {"skew": np.float64(0.3), "path": Path("x")},
}


def test_the_configuration_comes_back_without_what_is_none(tmp_path):
    RunFolder.create(tmp_path / "run", CONFIG).close()
    folder = RunFolder.open(tmp_path / "run")
    assert folder.config == {"algorithm": "fedavg", "rounds": 3, "data": {"skew": 0.3, "path": "x"}}
    assert folder.versions == versions()


def test_a_model_comes_back(tmp_path):
    folder = RunFolder.create(tmp_path / "run", {})
    folder.save_model({"w": np.arange(3.0)}, {"algorithm": "fedavg"})
    np.testing.assert_array_equal(folder.load_model({"w": np.zeros(3)})["w"], np.arange(3.0))


def test_finished_is_remembered_and_forgotten_by_rewinding(tmp_path):
    folder = RunFolder.create(tmp_path / "run", {})
    assert not folder.finished
    folder.finished = True
    folder.close()
    folder = RunFolder.open(tmp_path / "run")
    assert folder.finished
    folder.rewind(0)
    assert not folder.finished


@pytest.mark.parametrize(("keep", "left"), [(1, [5]), (3, [3, 4, 5]), (None, [1, 2, 3, 4, 5])])
def test_how_many_checkpoints_to_keep_survives_resuming(tmp_path, keep, left):
    folder = RunFolder.create(tmp_path / "run", {}, keep=keep)
    for round in range(1, 6):
        folder.save_checkpoint(round, {"w": np.ones(2)})
        folder.close()
        folder = RunFolder.open(tmp_path / "run")
    assert folder.checkpoints.rounds() == left


@pytest.mark.parametrize("finished", [True, False])
def test_a_run_is_not_replaced_unasked(tmp_path, finished):
    folder = RunFolder.create(tmp_path / "run", {"seed": 1})
    folder.finished = finished
    with pytest.raises(RunError, match=r"unalike resume .*run`, choose another --out"):
        RunFolder.create(tmp_path / "run", {})
    assert RunFolder.open(tmp_path / "run").config == {"seed": 1}


def test_a_run_is_replaced_when_asked(tmp_path):
    old = RunFolder.create(tmp_path / "run", {"seed": 1})
    old.record.write_round(1, {"x": 1.0})
    old.save_checkpoint(1, {"w": np.ones(2)})
    old.save_model({"w": np.ones(2)})
    old.close()
    new = RunFolder.create(tmp_path / "run", {"seed": 2}, overwrite=True)
    assert new.config == {"seed": 2}
    assert new.record.last_round() is None
    assert new.checkpoints.rounds() == []
    assert not (tmp_path / "run" / "model.safetensors").exists()


def test_a_run_in_use_is_not_replaced(tmp_path):
    RunFolder.create(tmp_path / "run", {"seed": 1}).close()
    with lock_folder(tmp_path / "run"), pytest.raises(RunError, match="in use"):
        RunFolder.create(tmp_path / "run", {}, overwrite=True)
    assert RunFolder.open(tmp_path / "run").config == {"seed": 1}


@pytest.mark.parametrize("name", ["thesis.tex", "checkpoints/notes.txt", "deep/er/file"])
def test_a_strangers_folder_is_never_touched(tmp_path, name):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("precious")
    with pytest.raises(RunError, match=f"{name}, which is not part of a run"):
        RunFolder.create(tmp_path, {}, overwrite=True)
    assert (tmp_path / name).read_text() == "precious"


def test_a_start_that_was_killed_before_its_configuration_does_not_block(tmp_path):
    folder = RunFolder.create(tmp_path / "run", {})
    folder.record.write_round(1, {})
    folder.close()
    (tmp_path / "run" / "config.toml").unlink()
    assert RunFolder.create(tmp_path / "run", {}).record.last_round() is None


def test_a_file_in_the_way_is_an_error(tmp_path):
    (tmp_path / "run").write_text("")
    for path in (tmp_path / "run", tmp_path / "run" / "below"):
        with pytest.raises(RunError):
            RunFolder.create(path, {})


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("config.toml", b"seed = [1, 2", r"config\.toml was changed"),
        ("config.toml", bytes(range(256)), r"config\.toml was changed"),
        ("config.toml", None, "is not a run folder"),
        ("metrics.sqlite", b"", "missing or empty"),
        ("metrics.sqlite", None, "missing or empty"),
        ("metrics.sqlite", b"garbage" * 1000, r"metrics\.sqlite is damaged"),
    ],
)
@pytest.mark.parametrize("read_only", [True, False])
def test_damage_is_one_clear_sentence(tmp_path, file, content, words, read_only):
    RunFolder.create(tmp_path / "run", CONFIG).close()
    path = tmp_path / "run" / file
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(RunError, match=words) as caught:
        RunFolder.open(tmp_path / "run", read_only=read_only)
    assert "\n" not in str(caught.value)


def test_a_cut_record_is_noticed(tmp_path):
    folder = RunFolder.create(tmp_path / "run", CONFIG)
    for round in range(300):
        folder.record.write_round(round, {"a": 1.0, "b": 2.0})
    folder.close()
    path = tmp_path / "run" / "metrics.sqlite"
    path.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(RunError, match="damaged"):
        RunFolder.open(tmp_path / "run")


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(RunError, match="there is no run folder"):
        RunFolder.open(tmp_path / "none")
