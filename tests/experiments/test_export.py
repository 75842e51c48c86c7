"""Does the model of a finished folder leave, and the folder stay as it is?"""

from functools import partial

import numpy as np
import pytest
from safetensors.numpy import load_file

from unalike import ConfigError, Run
from unalike.experiments.config import Experiment
from unalike.experiments.export import export_folder
from unalike.experiments.run import run_experiment
from unalike.runs import RunFolder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run"
    words = {"data": "digits", "clients": 2, "samples": 60, "rounds": 1, "model": "linear"}
    experiment = Experiment(**words)
    run = run_experiment(experiment, RunFolder.create(path, experiment.model_dump(exclude_none=True)))
    run.folder.close()
    return path


def test_a_folder_gives_its_model(folder, tmp_path):
    kept = [path for path in folder.rglob("*.*") if path.is_file() and "-" not in path.suffix]
    before = [path.read_bytes() for path in kept]
    path = export_folder(folder, tmp_path / "digits.safetensors", "safetensors")
    assert np.array_equal(load_file(path)["weight"], load_file(folder / "model.safetensors")["w"])
    assert [path.read_bytes() for path in kept] == before


def test_a_folder_cannot_be_written_to(folder, tmp_path):
    with pytest.raises(ConfigError, match="is a folder; say which file"):
        export_folder(folder, tmp_path, "safetensors")
    with pytest.raises(ConfigError, match="files of a run only"):
        export_folder(folder, folder / "model.safetensors", "safetensors")


def test_running_statistics_resume_predict_and_leave_with_the_model(tmp_path):
    words = {"data": "digits", "clients": 2, "samples": 60, "steps": 1, "model": "mlp-bn:4", "state": "local"}
    for name, rounds in (("whole", 2), ("half", 1)):
        made = Experiment(**words, rounds=rounds)
        run_experiment(made, RunFolder.create(tmp_path / name, made.model_dump())).folder.close()
    going_on = RunFolder.open(tmp_path / "half")
    run_experiment(Experiment(**words, rounds=2), going_on, resume=True).folder.close()
    whole, half = (tmp_path / name / "model.safetensors" for name in ("whole", "half"))
    assert whole.read_bytes() == half.read_bytes()
    x, opened = np.ones((3, 8, 8, 1), np.float32), [Run.open(tmp_path / name) for name in ("whole", "half")]
    assert np.array_equal(*(run.predict_proba(x, client="1") for run in opened))
    leave = partial(export_folder, tmp_path / "whole")
    shared = load_file(leave(tmp_path / "shared.safetensors", "safetensors"))
    own = load_file(leave(tmp_path / "own.safetensors", "safetensors", "1"))
    assert np.array_equal(shared["norm.0.running_var"], load_file(whole)["state/norm/0/variance"])
    assert not np.array_equal(shared["norm.0.running_mean"], own["norm.0.running_mean"])
    assert np.array_equal(shared["dense.0.weight"], own["dense.0.weight"])
