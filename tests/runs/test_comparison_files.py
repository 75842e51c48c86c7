"""Do the files of a comparison say what its table says?"""

import csv
import json

import numpy as np
import pytest

from unalike.runs import compare
from unalike.runs.comparison_files import write_comparison


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
    assert json.loads(files[".json"])["rows"] == answer.table()
    lines = list(csv.DictReader(files[".csv"].splitlines()))
    assert [float(line["test_accuracy"]) for line in lines] == [row["test_accuracy"] for row in answer.rows]
    for kind in (".md", ".tex"):
        assert "A note." in files[kind]
        assert "rounds to target" in files[kind]


def test_the_best_is_bold_and_marks_are_escaped_for_a_paper(answer, tmp_path):
    text = next(p for p in write_comparison(tmp_path, answer) if p.suffix == ".tex").read_text()
    assert r"fed\_avg" in text
    assert text.count(r"\textbf") == 1
    assert r"\textbf{0.9250" in text


def test_a_mean_over_the_seeds_that_were_lucky_is_not_shown(answer):
    first, second = answer.readable()
    assert (first["rounds to target"], first["MB to target"]) == ("12 ± 0", "2 ± 0")
    assert second["rounds to target"] == second["MB to target"] == "missed by 1 of 2"
