"""Can a machine read every answer?  (With --json there is one JSON document on standard output, no more.)"""

import json
from pathlib import Path

import numpy as np
import pytest

from .conftest import TINY, model_of


def document(answer):
    """The one JSON document on standard output, without NaN, which is not JSON."""
    return json.loads(answer.out, parse_constant=pytest.fail)


def test_run_and_resume(unalike):
    done = document(unalike("run", *TINY, "--out", "run", "--json"))
    assert done["algorithm"] == "fedavg"
    assert (done["rounds"], done["clients"], done["folder"]) == (4, 5, "run")
    assert 0 <= done["test_accuracy"] <= 1
    assert done["report"] == "run/report.html"
    again = document(unalike("resume", "run", "--json"))
    assert again == done
    longer = document(unalike("resume", "run", "--rounds", 6, "--json"))
    assert longer["rounds"] == 6


def test_resuming_a_finished_run_keeps_its_model(unalike, tiny):
    before = model_of(tiny())
    answer = unalike("resume", "run")
    assert answer.code == 0
    assert model_of("run") == before


def test_fewer_rounds_than_are_done_are_refused(unalike, tiny):
    tiny()
    answer = unalike("resume", "run", "--rounds", 2)
    assert answer.code == 2
    assert "4" in answer.sentence
    assert unalike("resume", "run", "--json").json["rounds"] == 4


def test_a_run_without_test_rows_and_one_of_no_rounds(unalike):
    untested = document(unalike("run", *TINY, "--test-fraction", 0, "--out", "a", "--json"))
    assert "test_accuracy" not in untested
    assert document(unalike("run", *TINY, "--rounds", 0, "--out", "b", "--json"))["rounds"] == 0


def test_a_diverging_run_is_still_json(unalike):
    answer = unalike("run", *TINY, "--data", "diabetes", "--learning-rate", 1e6, "--rounds", 9, "--json")
    assert answer.code == 0
    assert document(answer)["rounds"] == 9


@pytest.mark.parametrize("kind", [(), ("optimizers",), ("data",)])
def test_list(unalike, kind):
    listed = document(unalike("list", *kind, "--json"))
    assert all(words for names in listed.values() for words in names.values())
    assert all(words.endswith(".") for names in listed.values() for words in names.values())
    if kind:
        assert list(listed) == list(kind)


def test_inspect(unalike, tmp_path):
    facts = document(unalike("inspect", "digits", "--clients", 4, "--partition", "shards:2", "--json"))
    labels = np.array(facts["labels"])
    assert labels.shape == (4, 10)
    assert [path.name for path in tmp_path.iterdir()] == [Path(facts["picture"]).name]


def test_inspect_a_regression(unalike):
    assert document(unalike("inspect", "diabetes", "--clients", 4, "--json"))["labels"] is None


@pytest.mark.exact
def test_compare_is_the_same_for_the_same_seeds_and_keeps_every_run(unalike, tmp_path):
    words = ("--algorithms", "fedavg,local", "--seeds", 3, "--rounds", 2, "--partition", "shards:2", "--json")
    first = document(unalike("compare", *TINY, *words, "--out", "first"))
    second = document(unalike("compare", *TINY, *words, "--out", "second"))
    assert first["rows"] == second["rows"]
    assert (first["metric"], first["baseline"]) == ("test_accuracy", "fedavg")
    baseline, other = first["rows"]
    assert baseline["test_accuracy_half_width"] > 0
    assert baseline["difference"] is None
    assert other["difference"] == pytest.approx(other["test_accuracy"] - baseline["test_accuracy"])
    assert other["difference_half_width"] > 0
    assert all(0 <= other[test] <= 1 for test in ("p_t", "p_free"))
    runs = {path.name for path in (tmp_path / "first").iterdir() if path.is_dir()} - {"plots"}
    assert runs == {f"{name}-seed{seed}" for name in ("fedavg", "local") for seed in range(3)}
    assert all((tmp_path / "first" / run / "model.safetensors").exists() for run in runs)
    assert first["report"] == "first/report.html"


@pytest.mark.exact
def test_each_run_of_a_comparison_is_the_run_of_its_configuration(unalike):
    words = (
        "--algorithms",
        "fedavg,fedprox",
        "--seeds",
        1,
        "--seed",
        3,
        "--algorithm",
        "fedprox",
        "--set",
        "mu=2",
    )
    assert unalike("compare", *TINY, *words, "--out", "all", "--quiet").code == 0
    assert unalike("run", "all/fedprox-seed3/config.toml", "--out", "one", "--json").code == 0
    assert model_of("one") == model_of("all/fedprox-seed3")


ERRORS = [
    ("run", "--algorithm", "fedavgg"),
    ("run", "--rounds", "-1"),
    ("run", "--rounds", "many"),
    ("run", "--nonsense", "3"),
    ("resume", "nowhere"),
    ("compare", "--algorithms", "fedavgg"),
    ("list", "nonsense"),
    ("inspect", "nonsense"),
    ("reproduce", "nonsense"),
]


@pytest.mark.parametrize("words", ERRORS, ids=" ".join)
def test_errors_too(unalike, words):
    answer = unalike(*words, "--json")
    assert answer.code == 2
    assert list(document(answer)) == ["error"]
