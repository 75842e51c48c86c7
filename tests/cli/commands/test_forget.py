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
        (["--client", "1", "--clip", "1"], "--clip goes with --compare"),
        (["--client", "1", "--out", "there"], "--out goes with --compare"),
        (["--client", "1", "--compare", "--clip", "0"], "clipping norm must be above 0"),
        (["--client", "1", "--compare", "--quality"], "measures by itself"),
        (["--client", "1", "--compare", "--out", "run/inside"], "a comparison must not change"),
        (["--client", "nobody", "--compare"], "unknown client"),
        (["--compare", "--resume"], "leave out the others"),
        ([], "which client"),
    ],
)
def test_mistakes_are_answered_in_one_sentence(folder, unalike, options, reason):
    answer = unalike("forget", folder, *options)
    assert answer.code == 2
    assert reason in answer.sentence
    assert (folder / MODEL).exists()


def test_schemes_are_compared_and_the_run_stays(folder, unalike):
    files = [path for path in folder.rglob("*") if path.is_file() and ".sqlite-" not in path.name]
    before = [path.read_bytes() for path in files]
    words = ("forget", folder, "--client", "1", "--compare", "--clip", "0.2", "--out", "compared")
    shown = unalike(*words)
    assert "No rule says when to stop" in " ".join(shown.out.split())
    assert "fine-tuning" in shown.out
    assert {path.name for path in (folder.parent / "compared").iterdir()} == {
        *("schemes.json", "schemes.csv", "schemes.png", "schemes.html")
    }
    again = unalike(*words, "--json", "--quiet").json
    assert [one["scheme"] for one in again["schemes"]][1:3] == ["scratch", "fine-tuning"]
    assert again["asked"]["clip"] == 0.2
    assert [path.read_bytes() for path in files] == before


def test_a_run_that_has_forgotten_can_be_replaced(folder, unalike):
    assert unalike("forget", folder, "--client", "1", "--quality", "--json").code == 0
    assert "has forgotten clients before" in unalike("forget", folder, "--client", "2", "--compare").sentence
    words = ("run", "--clients", "3", "--model", "linear", "--rounds", "1", "--out", folder, "--json")
    assert "already holds a run" in unalike(*words).out
    assert unalike(*words, "--overwrite").code == 0
    assert not list(folder.glob("unlearning/**/*.safetensors"))


@pytest.mark.usefixtures("reports")
def test_a_run_that_has_forgotten_shows_the_others_only(folder, unalike):
    """Its page, its list and its best model are of the retraining."""
    assert unalike("forget", folder, "--client", "1", "--sigma", "0.0001", "--json").code == 0
    (listed,) = unalike("runs", "list", folder, "--json").json
    assert (listed["forgotten"], listed["state"]) == (1, "finished")
    assert "forgotten" in unalike("runs", "list", folder.parent).out
    answer = unalike("report", folder, "--json").json
    assert "not read again" in answer["without"]
    page = (folder / "report.html").read_text()
    assert "Clients forgotten" in page
    assert not (folder / "plots" / "data.png").exists()


def test_noise_that_would_uncover_somebody_is_refused_and_nothing_is_lost(folder, unalike):
    """Client 2 may be told apart by much and restarts after round 2 with little noise, which would not hide
    client 1, whose larger noise is replaced."""
    from unalike.experiments.forget_plan import open_run
    from unalike.trust.unlearning.calibration import Budget

    with open_run(folder, read_only=True).folder:
        held = open_run(folder, read_only=True).ledger(0).sensitivity("full")[2, 2]
    assert unalike("forget", folder, "--client", "1", "--sigma", "50", "--rounds", "2", "--json").code == 0
    sigma = Budget(50, 0.01, 1.0).sigma_for(1.001 * held)
    words = ("forget", folder, "--client", "2", "--epsilon", "50", "--rule", "path")
    answer = unalike(*words, "--sigma", sigma)
    assert answer.code == 2
    assert "would uncover 1, forgotten before with noise of 50" in answer.sentence
    assert "choose --sigma 50.0 or more" in answer.sentence
    assert (folder / MODEL).exists()
    assert unalike(*words, "--sigma", "50", "--rounds", "1", "--json").code == 0
