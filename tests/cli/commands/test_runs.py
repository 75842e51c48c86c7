"""Does `unalike runs` list, compare and clean what is there?"""

from pathlib import Path

import pytest

from ...runs.test_overview import made


@pytest.fixture
def two(unalike):
    """A finished and an interrupted run."""
    made(Path("runs/a"))
    made(Path("runs/b"), finished=False, algorithm="ditto")


def test_runs_are_listed_with_or_without_the_word(unalike, two):
    rows = unalike("runs", "--json").json
    assert [(row["method"], row["state"], row["rounds"]) for row in rows] == [
        ("fedavg", "finished", 2),
        ("ditto", "interrupted", 1),
    ]
    assert unalike("runs", "runs", "--json").json == unalike("runs", "list", "--json").json == rows
    shown = unalike("runs").out
    assert all(word in shown for word in ("ditto", "1 of 2", "50.0 %", "interrupted"))


def test_what_differs_is_a_table(unalike, two):
    answer = unalike("runs", "compare", "runs/a", "runs/b", "--json").json
    assert answer["settings"] == {"algorithm": ["fedavg", "ditto"]}
    assert answer["results"]["test_accuracy"] == [0.5, 0.5]
    assert "settings that differ" in unalike("runs", "compare", "runs/a", "runs/b").out
    for words, sentence in (
        (["runs/a"], "at least two runs"),
        (["runs/a", "no"], "there is no run folder no"),
    ):
        refused = unalike("runs", "compare", *words)
        assert (refused.code, sentence in refused.sentence) == (2, True)


def test_nothing_is_deleted_without_a_yes(unalike, two, monkeypatch):
    before = set(Path().rglob("*"))
    assert unalike("runs", "clean", "--dry-run", "--yes").code == 0
    assert unalike("runs", "clean", "--json").json["deleted"] is False
    monkeypatch.setattr("typer.confirm", lambda _: False)
    assert unalike("runs", "clean").code == 0
    assert before <= set(Path().rglob("*"))


def test_with_a_yes_it_goes(unalike, two):
    assert "interrupted in round 1" in " ".join(unalike("runs", "clean", "--yes").out.split())
    assert [row["state"] for row in unalike("runs", "--json").json] == ["finished"]
    assert "nothing to clean" in unalike("runs", "clean").out
    assert "its checkpoints were deleted" in unalike("resume", "runs/a").sentence


def test_a_run_whose_table_changed_is_not_resumed(unalike):
    def write(names):
        rows = [f"{names[i % 2]},{i % 7},{'ab'[i % 3 == 0]}" for i in range(40)]
        Path("p.csv").write_text("\n".join(["site,x,y", *rows]))

    write("uv")
    own = ("--data", "p.csv", "--client-column", "site", "--label", "y", "--model", "linear")
    assert unalike("run", *own, "--rounds", "2", "--out", "r").code == 0
    known = Path("r/clients.json").read_bytes()
    write("uz")
    refused = unalike("resume", "r", "--rounds", "3")
    assert (refused.code, Path("r/clients.json").read_bytes()) == (2, known)
    assert "r cannot be resumed: its client names are not those it was begun with" in refused.sentence
    write("uv")
    assert unalike("resume", "r", "--rounds", "3").code == 0
