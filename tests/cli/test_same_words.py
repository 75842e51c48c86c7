"""Do options, files and run folders say the same?"""

import json
from pathlib import Path

import pytest
import tomli_w

from unalike.experiments.config import Experiment
from unalike.runs import RunFolder

from .conftest import TINY, model_of

VALUES = {
    **{"clients": 5, "partition": "dirichlet:0.5", "model": "linear", "algorithm": "fedprox", "seed": 4},
    **{"rounds": 3, "per_round": 2, "steps": 2, "batch_size": 8, "learning_rate": 0.05, "l2": 0.001},
}


@pytest.fixture
def described(unalike):
    """A run from a TOML file."""
    Path("experiment.toml").write_text(tomli_w.dumps({**VALUES, "options": {"mu": 0.5}}))
    assert unalike("run", "experiment.toml", "--out", "described", "--json").code == 0
    return model_of("described")


@pytest.mark.exact
def test_a_file_and_options_give_the_same_model(unalike, described):
    words = [word for name, value in VALUES.items() for word in (f"--{name.replace('_', '-')}", value)]
    assert unalike("run", *words, "--set", "mu=0.5", "--out", "options", "--json").code == 0
    assert model_of("options") == described
    assert RunFolder.open("options").config == RunFolder.open("described").config


@pytest.mark.exact
def test_the_configuration_of_a_run_makes_the_run_again(unalike, described):
    assert unalike("run", "described/config.toml", "--out", "again", "--json").code == 0
    assert model_of("again") == described


def test_an_option_replaces_what_the_file_says(unalike, described):
    assert unalike("run", "experiment.toml", "--seed", 5, "--out", "other", "--json").code == 0
    assert model_of("other") != described
    assert RunFolder.open("other").config["seed"] == 5


def test_a_setting_of_the_algorithm_replaces_that_of_the_file(unalike):
    Path("two.toml").write_text(
        'algorithm = "fedavg+"\nclients = 5\nrounds = 1\n[options]\ntune_epochs = 2\n'
    )
    answer = unalike("run", "two.toml", "--model", "linear", "--set", "tune_epochs=3", "--out", "x", "--json")
    assert answer.code == 0, answer
    assert RunFolder.open("x").config["options"] == {"tune_epochs": 3}


@pytest.mark.parametrize("command", ["run", "compare"])
def test_help_shows_every_setting_with_its_default(unalike, command):
    words = " ".join(unalike(command, "--help").out.partition("Arguments:")[2].split())
    words = f" {words} --"
    for name, field in Experiment.model_fields.items():
        option = "--set" if name == "options" else f"--{name.replace('_', '-')}"
        start = words.index(f" {option} ")
        shown = words[start : words.index(" --", start + 3)]
        assert field.description.split()[0] in shown, name
        if field.default is not None and name != "options":
            assert str(field.default) in shown, name


def test_every_command_explains_itself(unalike):
    commands = ("run", "resume", "compare", "list", "inspect", "reproduce")
    overview = unalike("--help").out
    for command in commands:
        assert command in overview
        answer = unalike(command, "-h")
        assert answer.code == 0
        assert "--json" in answer.out
        assert "Traceback" not in answer.out


def test_a_run_without_a_folder_never_hits_an_earlier_one(unalike, tmp_path):
    folders = [Path(unalike("run", *TINY, "--rounds", 1, "--json").json["folder"]) for _ in range(2)]
    assert len(set(folders)) == 2
    assert all((tmp_path / folder / "model.safetensors").exists() for folder in folders)
    assert {path.name for path in tmp_path.iterdir()} == {"runs"}


@pytest.mark.exact
def test_overwrite_gives_the_same_as_a_fresh_folder(unalike, tiny):
    tiny("--seed", 1, out="used")
    tiny("--seed", 2, "--overwrite", out="used")
    assert model_of("used") == model_of(tiny("--seed", 2, out="fresh"))
    record = json.loads(unalike("resume", "used", "--json").out)
    assert record["rounds"] == 4
