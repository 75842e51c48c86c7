"""Do the files of a comparison say what its table says?"""

import csv
import json

import numpy as np
import pytest

from unalike.core.json_text import json_ready
from unalike.runs import compare
from unalike.runs.comparison_tables import write_comparison


@pytest.fixture
def answer():
    target = {"reached_target": 1.0, "rounds_to_target": 12.0, "bytes_to_target": 2e6}
    missed = {"reached_target": 0.0, "rounds_to_target": np.nan, "bytes_to_target": np.nan}
    rows = [{"test_accuracy": 0.7, **target}, {"test_accuracy": 0.8, **target}]
    others = [{"test_accuracy": 0.9, **target}, {"test_accuracy": 0.95, **missed}]
    return compare({"fed_avg": rows, "ditto": others}, "test_accuracy")


def test_the_files_hold_the_same_rows(answer, tmp_path):
    files = {path.suffix: path.read_text() for path in write_comparison(tmp_path, answer, ["A note."])}
    assert set(files) == {".csv", ".md", ".tex", ".json"}
    assert json.loads(files[".json"])["rows"] == json_ready(answer.rows)
    lines = list(csv.DictReader(files[".csv"].splitlines()))
    assert [float(line["test_accuracy"]) for line in lines] == [row["test_accuracy"] for row in answer.rows]
    for kind in (".md", ".tex"):
        assert "A note." in files[kind]
        assert "rounds to target" in files[kind]


def seeds(*values):
    return [{"seed": float(seed), "test_accuracy": value} for seed, value in enumerate(values)]


@pytest.mark.parametrize(
    ("ditto", "bold"),
    [
        (seeds(0.9, 0.92, 0.94), True),
        (seeds(0.9, 0.7, 0.94), False),  # a better mean, and an interval with zero in it
        (seeds(0.7, 0.8, 0.75), False),  # the same
        (seeds(0.85, 0.86, 0.9), False),  # always 0.15 better, but for rounding: no test, no interval
        (seeds(0.9), False),
    ],
)
def test_only_what_is_better_for_sure_is_bold_and_best(ditto, bold, tmp_path):
    answer = compare({"fed_avg": seeds(0.7, 0.71, 0.75), "ditto": ditto}, "test_accuracy")
    text = next(p for p in write_comparison(tmp_path, answer) if p.suffix == ".tex").read_text()
    assert r"fed\_avg" in text
    assert text.count(r"\textbf") == bold
    found = json.loads((tmp_path / "comparison.json").read_text())
    assert found["best"] == ("ditto" if bold else None)
    assert found["best_mean"] == "ditto"


def test_methods_on_different_data_are_neither_tested_nor_ranked():
    results = {"a": seeds(0.7, 0.71, 0.72), "b": seeds(0.9, 0.92, 0.95)}
    answer = compare(results, "test_accuracy", paired=False)
    assert answer.leader is None
    assert answer.rows[1]["p_t"] is None
    assert compare(results, "test_accuracy").leader == "b"


def test_a_mean_over_the_seeds_that_were_lucky_is_not_shown(answer):
    first, second = answer.readable()
    assert (first["rounds to target"], first["MB to target"]) == ("12 ± 0", "2 ± 0")
    assert second["rounds to target"] == second["MB to target"] == "missed by 1 of 2"
