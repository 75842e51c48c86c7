"""Does `unalike benchmark` write its tables, and does it refuse in one sentence what cannot be?"""

import csv
import json
from pathlib import Path

import pytest

QUICK = ("--seeds", "1", "--budget", "1", "--strategies", "local,fedavg")


def test_a_generated_benchmark_needs_no_file_and_leaves_tables_and_a_page(unalike):
    answer = unalike("benchmark", "heart-like", *QUICK, "--out", "b", "--quiet")
    assert answer.code == 0, answer
    assert "fedavg" in answer.out
    rows = list(csv.DictReader(Path("b/results.csv").read_text().splitlines()))
    assert {row["dataset"] for row in rows} == {"heart-like"}
    assert len(rows) == 2 * (4 + 2)
    assert Path("b/results.tex").read_text().startswith(r"\begin{tabular}")
    assert len(Path("b/transfer.csv").read_text().splitlines()) == 5
    page = Path("b/report.html").read_text()
    assert "hospital 3" in page
    again = unalike("benchmark", "heart-like", *QUICK, "--out", "b")
    assert again.code == 2
    assert "--overwrite" in again.sentence


def test_machines_get_the_tidy_table(unalike):
    answer = unalike("benchmark", "heart-like", *QUICK, "--out", "b", "--json")
    found = json.loads(answer.out, parse_constant=pytest.fail)
    assert found["benchmark"] == "heart-like"
    assert {row["center"] for row in found["rows"]} >= {"mean", "all", "hospital 1"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("hart-disease",), "heart-disease"),
        (("heart-like", "--strategies", "fedavgg"), "fedavg"),
        (("heart-like", "--strategies", ","), "at least one strategy"),
        (("tcga-brca",), "UNALIKE_DATA"),
        (("heart-disease",), "UNALIKE_DATA"),
    ],
)
def test_what_cannot_be_is_one_sentence(unalike, monkeypatch, words, says):
    monkeypatch.delenv("UNALIKE_DATA", raising=False)
    answer = unalike("benchmark", *words)
    assert answer.code == 2
    assert says in answer.sentence
    assert not Path("runs").exists()
