"""Does `unalike compare` compare what it is asked, go on where it stopped, and leave tables behind?"""

from pathlib import Path

import pytest

import unalike.experiments.compare as comparisons
from unalike.experiments.planned_runs import train_planned

SMALL = ("--data", "digits", "--samples", "200", "--clients", "5", "--model", "linear", "--rounds", "2")
WORDS = (*SMALL, "--steps", "1", "--devices", "1", "--seeds", "1")

pytestmark = pytest.mark.usefixtures("no_reports")


def test_every_value_is_a_row_and_tables_are_in_the_folder(unalike):
    words = ("--algorithms", "fedavg", "--vary", "timing=sync,fedfix:0.5", "--target", "accuracy=0")
    answer = unalike("compare", *WORDS, *words, "--json").json
    assert [row["method"] for row in answer["rows"]] == ["sync", "fedfix:0.5"]
    assert all(row["reached_target"] == 1 and row["time_to_target"] == 0 for row in answer["rows"])
    files = {path.name for path in Path("runs/comparison").iterdir() if path.is_file()}
    assert files == {f"comparison.{ending}" for ending in ("toml", "csv", "json", "md", "tex")}


def test_the_same_command_goes_on_in_the_same_folder(unalike, monkeypatch):
    command = ("compare", *WORDS, "--algorithms", "fedavg", "--seeds", "2", "--quiet")
    trained = []

    def second_fails(planned, *rest):
        trained.append(planned.experiment.seed)
        if len(trained) == 2:
            raise KeyboardInterrupt
        return train_planned(planned, *rest)

    monkeypatch.setattr(comparisons, "train_planned", second_fails)
    stopped = unalike(*command)
    assert stopped.code == 130
    assert "runs/comparison, go on with the same command" in stopped.sentence
    assert unalike(*command).code == 0
    assert trained == [0, 1, 1]
    assert not Path("runs/comparison-2").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--algorithms", "fedavg,local,fedavg"), "fedavg is named twice; name every algorithm once."),
        (("--target", "acuracy=0.9"), "unknown metric of a target 'test_acuracy'"),
        (("--target", "accuracy"), "not of the form METRIC=VALUE"),
        (("--vary", "algorithm=local"), "methods are compared by --algorithms"),
        (("--vary", "muu=1"), "unknown setting 'muu'"),
        (("--jobs", "0"), "jobs"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence_and_nothing_on_the_disk(unalike, words, sentence):
    answer = unalike("compare", *WORDS, "--algorithms", "fedprox", *words)
    assert answer.code == 2
    assert sentence in answer.sentence
    assert not Path("runs").exists()
