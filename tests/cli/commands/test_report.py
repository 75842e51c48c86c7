"""Is the page of a run or of a comparison written again, and nothing trained?"""

from pathlib import Path

import pytest

import unalike.report
from unalike.runs import RunFolder

SMALL = ("--data", "digits", "--samples", "100", "--clients", "3", "--model", "linear", "--rounds", "1")


@pytest.fixture
def drawn(monkeypatch):
    """What was drawn of runs: their clients, and figures beside those of the record."""
    seen = []

    def draw(folder, federation, more, missing=""):
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


@pytest.mark.usefixtures("reports")
def test_a_page_is_not_replaced_by_one_with_less(unalike, tmp_path):
    words = ("--label", "y", "--model", "linear", "--rounds", "1", "--out", "one", "--json")
    rows = "\n".join(f"{i % 7},{i % 2}" for i in range(30))
    (tmp_path / "sites").mkdir()
    for name in ("ann", "bob"):
        (tmp_path / "sites" / f"{name}.csv").write_text(f"x,y\n{rows}\n")
    assert unalike("run", "--data", "sites", *words).code == 0
    page = tmp_path / "one" / "report.html"
    good = page.read_bytes()
    (tmp_path / "sites").rename(tmp_path / "moved")
    refused = unalike("report", "one")
    assert refused.code == 2
    assert "report.html is kept: a new page would lack the figures Data, because" in refused.sentence
    assert page.read_bytes() == good
    page.unlink()
    assert unalike("report", "one").code == 0
    assert "ann" in page.read_text()
    assert unalike("report", "one").code == 0
    (tmp_path / "moved").rename(tmp_path / "sites")
    assert unalike("report", "one").code == 0
    assert page.read_bytes() == good


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
