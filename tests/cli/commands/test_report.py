"""Is the page of a run or of a comparison written again, and nothing trained?"""

from pathlib import Path

import pytest

import unalike.report
from unalike.runs import RunFolder

SMALL = ("--data", "digits", "--samples", "100", "--clients", "3", "--model", "linear", "--rounds", "1")


@pytest.fixture
def drawn(monkeypatch, no_reports):
    """What was drawn of runs: their clients, and figures beside those of the record."""
    seen = []

    def draw(folder, federation, more):
        seen.append((len(federation) if federation else None, sorted(more)))
        return Path(folder.path) / "report.html"

    monkeypatch.setattr(unalike.report, "report_run", draw)
    return seen


def test_a_run_is_drawn_from_its_folder_as_when_it_ended(unalike, drawn):
    unalike("run", *SMALL, "--metrics", "accuracy,confusion", "--out", "one", "--json")
    model = Path("one/model.safetensors").read_bytes()
    answer = unalike("report", "one", "--json").json
    assert answer == {"report": "one/report.html", "without": None}
    assert drawn[0] == drawn[1] == (3, ["Confusion"])
    assert Path("one/model.safetensors").read_bytes() == model
    unalike("runs", "clean", "one", "--yes")
    assert "checkpoints of one were deleted" in unalike("report", "one", "--json").json["without"]
    assert drawn[2] == (3, [])


def test_a_comparison_is_answered_again_only_when_it_is_finished(unalike, drawn):
    words = ("--algorithms", "fedavg", "--seeds", "1", "--out", "both", "--json")
    first = unalike("compare", *SMALL, *words).json
    Path("both/comparison.csv").unlink()
    assert unalike("report", "both", "--json").json == first
    assert Path("both/comparison.csv").exists()
    with RunFolder.open("both/fedavg-seed0") as folder:
        folder.finished = False
    refused = unalike("report", "both")
    assert refused.code == 2
    assert "fedavg, seed 0 of both is not finished" in refused.sentence


def test_another_folder_is_refused(unalike):
    Path("empty").mkdir()
    assert "neither a run" in unalike("report", "empty").sentence
    assert "no run folder nowhere" in unalike("report", "nowhere").sentence
