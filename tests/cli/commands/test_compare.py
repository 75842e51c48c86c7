"""Does `unalike compare` compare what it is asked, go on where it stopped, and leave tables behind?"""

from pathlib import Path

import pytest

import unalike.experiments.compare as comparisons
from unalike.experiments.planned_runs import train_planned

SMALL = ("--data", "digits", "--samples", "200", "--clients", "5", "--model", "linear", "--rounds", "2")
WORDS = (*SMALL, "--steps", "1", "--devices", "1", "--seeds", "1")


def test_every_value_is_a_row_and_tables_are_in_the_folder(unalike):
    words = ("--algorithms", "fedavg", "--vary", "timing=sync,fedfix:0.5", "--target", "accuracy=0")
    answer = unalike("compare", *WORDS, *words, "--json").json
    assert [row["method"] for row in answer["rows"]] == ["sync", "fedfix:0.5"]
    assert all(row["reached_target"] == 1 and row["time_to_target"] == 0 for row in answer["rows"])
    files = {path.name for path in Path("runs/comparison").iterdir() if path.is_file()}
    assert files == {"seal.jsonl"} | {
        f"comparison.{ending}" for ending in ("toml", "csv", "json", "md", "tex")
    }


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


PLUGIN = """
from dataclasses import dataclass
from unalike import FedAvg, Reply, local_sgd
from unalike.algorithms import algorithm_registry

@algorithm_registry.add("own")
@dataclass(frozen=True, kw_only=True)
class Own(FedAvg):
    def client(self, task, message, memory, data, key):
        trained = local_sgd(task, message, data, self.optimizer, anchor=message, mu=%s)
        return Reply(trained.params, memory, {"train_loss": trained.loss})
"""


@pytest.fixture
def forgets_plugins(monkeypatch):
    """Every command is a process of its own, which reads plugins anew."""
    import sys

    from unalike.algorithms import algorithm_registry
    from unalike.core import plugins

    def forget():
        plugins._loaded.clear()
        sys.modules.pop("my_prox", None)
        algorithm_registry._makers.pop("own", None)

    monkeypatch.setenv(plugins.VARIABLE, "")
    yield forget
    forget()


def test_results_of_a_plugin_whose_code_changed_are_not_reused(unalike, forgets_plugins):
    command = ("compare", *WORDS, "--steps", "3", "--algorithms", "fedavg,own", "--out", "c", "--json")
    Path("my_prox.py").write_text(PLUGIN % "0.1")
    first = unalike(*command, "--plugin", "my_prox.py").json["rows"]
    forgets_plugins()
    Path("my_prox.py").write_text("# a comment\n" + PLUGIN % "0.1")
    assert unalike(*command, "--plugin", "my_prox.py").json["rows"] == first
    forgets_plugins()
    Path("my_prox.py").write_text(PLUGIN % "9.0")
    refused = unalike(*command, "--plugin", "my_prox.py")
    assert refused.code == 2
    assert "the code of my_prox has changed" in refused.out
    assert "--retrain" in refused.out
    trained = unalike(*command, "--plugin", "my_prox.py", "--retrain").json["rows"]
    fresh = unalike(*command[:-2], "fresh", "--json", "--plugin", "my_prox.py").json["rows"]
    assert trained == fresh
    assert trained[0] == first[0]
    assert trained[1] != first[1]


def write_table(labels):
    rows = [f"{client},{i % 7},{(i * i) % 11},{labels[i % 2]}" for i in range(40) for client in "ab"]
    Path("p.csv").write_text("\n".join(["site,x,z,y", *rows]))


def test_results_of_a_table_that_changed_are_not_reused(unalike):
    own = ("--data", "p.csv", "--client-column", "site", "--label", "y", "--model", "linear", "--rounds", "2")
    command = ("compare", *own, "--algorithms", "fedavg", "--seeds", "2", "--out", "c", "--json")
    write_table("ab")
    first = unalike(*command).json["rows"]
    write_table("ba")
    refused = unalike(*command)
    assert refused.code == 2
    assert "c/fedavg-seed0 was trained before something changed: its training rows are not" in refused.out
    assert unalike("report", "c").code == 2
    assert unalike(*command, "--retrain").code == 0
    write_table("ab")
    assert unalike(*command, "--retrain").json["rows"] == first


def test_results_of_another_version_are_not_reused(unalike, monkeypatch):
    import unalike.experiments.planned_runs as planned
    from unalike import __version__

    command = ("compare", *WORDS, "--algorithms", "fedavg", "--out", "c")
    assert unalike(*command).code == 0
    monkeypatch.setattr(planned, "__version__", "99.0")
    assert f"Unalike was {__version__} and is 99.0" in unalike(*command).sentence


def test_data_sets_are_not_tested_against_each_other(unalike):
    own = ("--clients", "4", "--model", "linear", "--rounds", "1", "--samples", "120", "--seeds", "2")
    two = ("--vary", "data=digits", "--vary", "data=breast_cancer")
    answer = unalike("compare", *own, "--algorithms", "fedavg", *two, "--json")
    assert [row["p_t"] for row in answer.json["rows"]] == [None, None]
    assert answer.json["best"] is None
    assert "none is best" in answer.json["notes"][0]


@pytest.mark.parametrize(("more", "said"), [((), True), (("--validation-fraction", "0.2"), False)])
def test_a_comparison_says_when_test_rows_decided_the_end(unalike, more, said):
    own = ("--clients", "4", "--model", "linear", "--rounds", "2", "--samples", "120", "--seeds", "1")
    vary = ("--vary", "patience=1", "--evaluate-every", "1")
    answer = unalike("compare", *own, "--algorithms", "fedavg", *vary, *more, "--json")
    table = Path(answer.json["report"]).with_name("comparison.md").read_text()
    for place in (" ".join(answer.json["notes"]), table):
        assert ("test rows decided when to stop" in place) == said
