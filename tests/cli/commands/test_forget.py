"""Does `unalike forget` say what it did, or why it did not?"""

import json

import pytest

from unalike.core.run_files import MODEL
from unalike.experiments.config import make_experiment
from unalike.experiments.run import run_experiment

WORDS = {
    "data": "digits",
    "samples": 200,
    "clients": 4,
    "model": "linear",
    "rounds": 3,
    "steps": 1,
    "batch_size": 0,
    "unlearning": "full",
}


@pytest.fixture
def folder(tmp_path):
    run_experiment(make_experiment(WORDS), tmp_path / "run").folder.close()
    return tmp_path / "run"


def test_a_dry_run_says_what_it_would_do_and_changes_nothing(folder, unalike):
    before = {path: path.read_bytes() for path in folder.rglob("*.safetensors")}
    answer = unalike("forget", folder, "--client", "1", "--dry-run", "--json").json
    assert answer["restart"].startswith("branch 0, round ")
    assert {path: path.read_bytes() for path in folder.rglob("*.safetensors")} == before


def test_the_certificate_is_shown_and_written(folder, unalike):
    shown = unalike("forget", folder, "--client", "1", "--epsilon", "0.5", "--json").json
    assert shown == json.loads((folder / "unlearning" / "certificate-1.json").read_text())
    assert shown["label"] == "proven"
    assert (folder / MODEL).exists()
    assert "training on would bring them back" in unalike("resume", folder).sentence


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--client", "nobody"], "unknown client"),
        (["--client", "1", "--epsilon", "0"], "epsilon must be above 0"),
        (["--client", "1", "--delta", "1"], "delta must lie"),
        (["--client", "1", "--sigma", "-1"], "sigma must be above 0"),
        (["--client", "1", "--resume"], "leave out the others"),
        (["--resume"], "nothing is being forgotten"),
        ([], "which client"),
    ],
)
def test_mistakes_are_answered_in_one_sentence(folder, unalike, options, reason):
    answer = unalike("forget", folder, *options)
    assert answer.code == 2
    assert reason in answer.sentence
    assert (folder / MODEL).exists()


def test_a_run_that_has_forgotten_can_be_replaced(folder, unalike, no_reports):
    assert unalike("forget", folder, "--client", "1", "--quality", "--json").code == 0
    words = ("run", "--clients", "3", "--model", "linear", "--rounds", "1", "--out", folder, "--json")
    assert "already holds a run" in unalike(*words).out
    assert unalike(*words, "--overwrite").code == 0
    assert not list(folder.glob("unlearning/**/*.safetensors"))
