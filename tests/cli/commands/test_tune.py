"""Does `unalike tune` choose, write and compare as it says, and refuse what cannot work before it starts?"""

from pathlib import Path

import pytest

import unalike.experiments.tune as unalike_tune
import unalike.report

from ..conftest import model_of

SMALL = ("--data", "digits", "--samples", "200", "--clients", "5", "--model", "linear", "--rounds", "2")
WORK = ("--steps", "2", "--devices", "1", "--evaluate-every", "0")
TWO = (*SMALL, *WORK, "--algorithms", "fedavg,ditto", "--budget", "2", "--seeds", "1")


@pytest.fixture(autouse=True)
def no_drawing(monkeypatch):
    """Pictures take most of the time here, and are tested elsewhere."""
    monkeypatch.setattr(unalike.report, "report_tuning", lambda path, *_: Path(path))


@pytest.fixture
def tried(monkeypatch):
    """How many trials were started; none of them is trained."""
    asked = []

    def run(experiment, **_):
        asked.append(experiment)
        raise RuntimeError("a trial was started")

    monkeypatch.setattr(unalike_tune, "run_experiment", run)
    return asked


def test_all_trials_are_listed_and_the_best_are_compared_and_written_ready_to_run(unalike):
    answer = unalike("tune", *TWO, "--out", "out", "--json").json
    trials = answer["trials"]
    assert [row["method"] for row in answer["rows"]] == ["fedavg", "ditto"]
    assert [trial["method"] for trial in trials] == ["fedavg"] * 2 + ["ditto"] * 2
    for pair in (trials[:2], trials[2:]):
        assert pair[0]["score"] >= pair[1]["score"]
        assert {trial["learning_rate"] for trial in pair} >= {0.1}  # the default comes first
    assert {path.name for path in Path("out").iterdir()} == {
        *("fedavg.toml", "ditto.toml", "fedavg-seed0", "ditto-seed0", "tuning.toml", "trials.sqlite"),
        "seal.jsonl",
        *(f"comparison.{ending}" for ending in ("csv", "json", "md", "tex")),
    }
    again = unalike("run", "out/ditto.toml", "--out", "again", "--json").json
    assert again["algorithm"] == "ditto"
    assert f"lam = {trials[2]['lam']}" in Path("again", "config.toml").read_text()


def test_a_plain_run_of_what_was_chosen_is_the_run_that_was_compared(unalike):
    unalike("tune", *SMALL, *WORK, "--algorithms", "fedavg", "--budget", "1", "--seeds", "1", "--out", "out")
    unalike("run", "out/fedavg.toml", "--out", "again", "--json")
    assert model_of("again") == model_of("out/fedavg-seed0")


def test_a_plain_run_trains_on_validation_rows_as_the_compared_one_did(unalike):
    one = ("--algorithms", "fedavg", "--budget", "1", "--seeds", "1", "--validation-fraction", "0.3")
    unalike("tune", *SMALL, *WORK, *one, "--out", "out")
    unalike("run", "out/fedavg.toml", "--out", "again", "--json")
    configs = [(Path(folder) / "config.toml").read_text() for folder in ("again", "out/fedavg-seed0")]
    assert all("validation_fraction = 0.0" in config for config in configs)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--algorithms", "fedavg,nosuch"), "unknown algorithm 'nosuch'"),
        (("--algorithms", " , "), "name at least one algorithm"),
        (("--rates", "1,0"), "positive learning rates in order"),
        (("--rates", "1"), "not of the form smallest,largest"),
        (("--rates", "a,b"), "not of the form smallest,largest"),
        (("--search", "foo"), "unknown search 'foo'"),
        (("--unseen", "1"), "unseen = 1.0 is not possible"),
        (("--restarts", "0"), "restarts = 0 is not possible"),
        (("--validation-fraction", "0.9"), "leave nothing to train on"),
        (("--set", "fedavg.nosuch=1"), "unknown option of fedavg 'nosuch'"),
        (("--samples", "10", "--test-fraction", "0.4"), "rows enough for validation"),
    ],
)
def test_what_cannot_work_is_one_sentence_and_nothing_on_the_disk(unalike, tried, words, sentence):
    answer = unalike("tune", *TWO, *words, "--out", "out")
    assert answer.code == 2
    assert sentence in answer.sentence
    assert not tried
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--test-fraction", "0"), "needs test rows"),
        (("--unseen", "0.99"), "some must train, some must join"),
        (("--per-round", "4", "--unseen", "0.4"), "per_round must be between 1"),
        (("--model", "mlp", "--algorithms", "fedavg,mocha"), "mocha is for classification with a linear"),
        (("--out", "taken"), "already holds a run"),
    ],
)
def test_what_the_comparison_would_refuse_is_refused_before_the_trials(unalike, tried, words, sentence):
    (Path("taken") / "fedavg-seed0").mkdir(parents=True)
    (Path("taken") / "fedavg-seed0" / "config.toml").write_text("data = 'digits'\n")
    answer = unalike("tune", *TWO, "--out", "out", *words)
    assert not tried
    assert sentence in answer.sentence


@pytest.mark.parametrize("option", ["nosuch.lam=1", "fedem.components=2", "mu=0.5"])
def test_options_that_no_method_takes_are_refused(unalike, option):
    words = (*SMALL, *WORK, "--algorithms", "local", "--seeds", "1", "--set", option)
    answer = unalike("compare", *words, "--out", "out")
    assert answer.code == 2
    assert option.partition("=")[0] in answer.sentence


def test_a_method_that_cannot_work_leaves_nothing_of_the_others(unalike):
    words = (*SMALL, *WORK, "--model", "mlp:4", "--algorithms", "fedavg,mocha", "--seeds", "1")
    answer = unalike("compare", *words, "--out", "out")
    assert answer.code == 2
    assert not Path("out").exists()


@pytest.mark.parametrize("value", ["2.5", "x"])
def test_options_that_count_must_be_whole_numbers(unalike, value):
    answer = unalike(
        "run", *SMALL, *WORK, "--algorithm", "fedem", "--set", f"components={value}", "--out", "out"
    )
    assert answer.code == 2
    assert "whole number" in answer.sentence


def test_more_trials_are_added_and_runs_of_other_settings_are_trained_again(unalike, monkeypatch):
    words = (*SMALL, *WORK, "--algorithms", "fedavg", "--seeds", "1", "--rates", "0.2,1", "--out", "out")
    few = unalike("tune", *words, "--budget", "1", "--json").json["trials"]
    more = unalike("tune", *words, "--budget", "2", "--json").json["trials"]
    assert few[0] in more
    assert more[0]["score"] >= few[0]["score"]
    assert f"learning_rate = {more[0]['learning_rate']}" in Path("out/fedavg-seed0/config.toml").read_text()
    monkeypatch.setattr(unalike_tune, "run_experiment", pytest.fail)
    assert unalike("tune", *words, "--budget", "2", "--json").json["trials"] == more


def test_without_optuna_the_extra_is_named(unalike, monkeypatch):
    monkeypatch.setattr("unalike.core.extras.is_installed", lambda module: module != "optuna")
    answer = unalike("tune", *TWO)
    assert answer.code == 2
    assert "needs Optuna" in answer.sentence
    assert "[tune]" in answer.sentence
