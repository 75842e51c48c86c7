"""Does the model of a finished folder leave, and the folder stay as it is?"""

import numpy as np
import pytest
from safetensors.numpy import load_file

from unalike import ConfigError
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
