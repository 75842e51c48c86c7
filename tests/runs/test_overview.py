"""Is a run's state what happened to it, and does cleaning leave everything else alone?"""

import numpy as np
import pytest

from unalike import RunError
from unalike.runs import RunFolder, lock_folder
from unalike.runs.overview import differing_settings, find_runs, find_waste, look_at


def made(path, finished=True, **config):
    """A run of two rounds without any training."""
    with RunFolder.create(path, {"algorithm": "fedavg", "data": "digits", "rounds": 2, **config}) as folder:
        folder.record.write_round(0, {"test_accuracy": 0.1, "test_loss": 2.0})
        folder.record.write_round(2 if finished else 1, {"test_accuracy": 0.5, "clock": np.nan})
        folder.save_checkpoint(1, {"w": np.zeros(3)})
        folder.save_model({"w": np.zeros(3)})
        folder.finished = finished
    return path


def test_states_are_what_happened(tmp_path):
    finished, interrupted = made(tmp_path / "a"), made(tmp_path / "b", finished=False)
    assert (look_at(finished).state, look_at(interrupted).state) == ("finished", "interrupted")
    with lock_folder(interrupted):
        assert look_at(interrupted).state == "running"
    (finished / "metrics.sqlite").write_bytes(b"no database")
    assert look_at(finished).state == "damaged"


def test_the_last_that_was_measured_is_known(tmp_path):
    facts = look_at(made(tmp_path / "a"))
    assert (facts.rounds, facts.asked, facts.method, facts.judged) == (2, 2, "fedavg", "test_accuracy")
    assert facts.metrics == {"test_accuracy": 0.5, "test_loss": 2.0}
    assert facts.size == sum(path.stat().st_size for path in facts.folder.rglob("*") if path.is_file())


def test_runs_are_found_however_deep_and_none_inside_a_run(tmp_path):
    made(tmp_path / "one")
    made(tmp_path / "deep" / "two")
    made(tmp_path / "one" / "inside")
    assert [path.name for path in find_runs(tmp_path)] == ["two", "one"]
    assert find_runs(tmp_path / "one") == [tmp_path / "one"]
    with pytest.raises(RunError, match="there is no folder"):
        find_runs(tmp_path / "nowhere")


def test_only_settings_that_differ_are_shown(tmp_path):
    runs = [look_at(made(tmp_path / "a")), look_at(made(tmp_path / "b", algorithm="ditto", l2=0.1))]
    assert differing_settings(runs) == {"algorithm": ["fedavg", "ditto"], "l2": [None, 0.1]}


def test_a_finished_run_loses_its_checkpoints_and_nothing_else(tmp_path):
    folder = made(tmp_path / "a")
    before = {path.name for path in folder.rglob("*") if path.is_file()}
    waste = find_waste(look_at(folder))
    assert waste.size == (folder / "checkpoints" / "round-000001.safetensors").stat().st_size
    waste.remove()
    assert before - {path.name for path in folder.rglob("*")} == {"round-000001.safetensors"}
    assert find_waste(look_at(folder)) is None


def test_an_interrupted_run_goes_but_a_strangers_file_stays(tmp_path):
    gone, kept = (made(tmp_path / name, finished=False) for name in ("gone", "kept"))
    (kept / "notes.txt").write_text("mine")
    for folder in (gone, kept):
        find_waste(look_at(folder)).remove()
    assert not gone.exists()
    assert [path.name for path in kept.iterdir()] == ["notes.txt"]


def test_a_run_that_somebody_works_on_is_left_alone(tmp_path):
    folder = made(tmp_path / "a", finished=False)
    waste = find_waste(look_at(folder))
    with lock_folder(folder):
        assert find_waste(look_at(folder)) is None
        with pytest.raises(RunError, match="in use"):
            waste.remove()
    assert (folder / "config.toml").exists()
