"""Is a training that is finished never repeated, and one that differs in anything never mistaken for it?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike.data import load
from unalike.errors import RunError
from unalike.models import Task, linear, mlp
from unalike_studies import trainings as module
from unalike_studies.trainings import Trainings, describe_training

SEED = {"seed": 0}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "new" / "kept.jsonl"


def test_what_is_finished_is_read_to_the_last_bit(file):
    numbers = np.array([0.1 + 0.2, np.inf, np.nan, 1e-300])
    Trainings(file).numbers(SEED, lambda: numbers)
    found = Trainings(file).numbers(SEED, pytest.fail)
    np.testing.assert_array_equal(found, numbers)


def test_what_was_interrupted_is_trained_again(file):
    def interrupted():
        raise KeyboardInterrupt

    trainings = Trainings(file)
    trainings.numbers(SEED, lambda: np.ones(1))
    with pytest.raises(KeyboardInterrupt):
        trainings.numbers({"seed": 1}, interrupted)
    again = Trainings(file)
    assert again.numbers(SEED, pytest.fail).tolist() == [1.0]
    assert again.numbers({"seed": 1}, lambda: np.zeros(1)).tolist() == [0.0]


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_line_that_a_crash_cut_short_costs_one_training(file, cut):
    trainings = Trainings(file)
    for seed in range(2):
        trainings.numbers({"seed": seed}, lambda seed=seed: np.full(3, seed))
    file.write_bytes(file.read_bytes()[: -1 - cut])
    after = Trainings(file)
    assert after.numbers(SEED, pytest.fail).tolist() == [0.0] * 3
    assert after.numbers({"seed": 1}, lambda: np.full(3, 7.0)).tolist() == [7.0] * 3
    assert Trainings(file).numbers({"seed": 1}, pytest.fail).tolist() == [7.0] * 3


@pytest.mark.parametrize("text", ["", "not JSON", '{"a": 1}', "[1]", '[{}, ["x"]]', "[1, 2, 3]"])
def test_lines_that_say_something_else_are_passed_over(file, text):
    file.parent.mkdir()
    file.write_text(text + "\n")
    assert Trainings(file).numbers(SEED, lambda: np.ones(1)).tolist() == [1.0]


def test_a_file_in_place_of_the_folder_is_refused_before_anything_is_trained(tmp_path):
    (tmp_path / "taken").touch()
    with pytest.raises(RunError, match="taken is a file"):
        Trainings(tmp_path / "taken" / "kept.jsonl")
    with pytest.raises(RunError, match="cannot be read"):
        Trainings(tmp_path)


def test_another_version_of_the_package_trains_again(file, monkeypatch):
    Trainings(file).numbers(SEED, lambda: np.ones(1))
    monkeypatch.setattr(module, "__version__", "another")
    assert Trainings(file).numbers(SEED, lambda: np.zeros(1)).tolist() == [0.0]


def test_finished_ones_are_counted_whether_read_or_trained(file):
    Trainings(file).numbers(SEED, lambda: np.ones(1))
    told = []
    trainings = Trainings(file, lambda *counts: told.append(counts))
    trainings.expect(2)
    for seed in range(2):
        trainings.numbers({"seed": seed}, lambda: np.ones(1))
    assert told == [(1, 2), (2, 2)]


def test_rows_importances_models_and_penalties_are_told_apart():
    federation = load("gaussians:2,3,3", clients=3, samples=30, seed=0)
    model, task = linear(input_shape=(3,), outputs=2), Task.classification
    variants = [
        describe_training(federation, task(model, 2)),
        describe_training(federation, task(model, 2, 0.1)),
        describe_training(federation, task(mlp(4, input_shape=(3,), outputs=2), 2)),
        describe_training(federation, task(mlp(5, input_shape=(3,), outputs=2), 2)),
        describe_training(replace(federation, test=federation.train), task(model, 2)),
        describe_training(federation.with_importance([0.5, 0.25, 0.25]), task(model, 2)),
        describe_training(load("gaussians:2,3,3", clients=3, samples=30, seed=1), task(model, 2)),
    ]
    assert len({str(each) for each in variants}) == len(variants)
    assert variants[0] == describe_training(federation, task(model, 2))
