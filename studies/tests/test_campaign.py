"""Do all studies run once, and what do their files say?"""

import json
from pathlib import Path

import pytest

from unalike.errors import ConfigError
from unalike_studies import Claim, campaign

HOLDS = Claim("A1", "it | is small", 0.1, "<= 0.5", 0.3, True, spread=0.1, place="Table 1")
HARD = Claim("A2", "it is large", None, ">= 9", float("nan"), False)
SOFT = Claim("B1", "it would be <nice>", None, "1", 0.0, False, hard=False)


@pytest.fixture
def studies(monkeypatch):
    """Three small studies; what ran, in order."""
    ran, claims = [], {"one": [HOLDS], "two": [HOLDS, SOFT], "three": [SOFT]}

    def run(name, quick):
        ran.append((name, quick))
        if isinstance(claims[name], BaseException):
            raise claims[name]
        return claims[name]

    monkeypatch.setattr(campaign, "study_names", lambda: claims)
    monkeypatch.setattr(campaign, "run_study", run)
    monkeypatch.setattr(campaign, "forget_programs", lambda most: None)  # other tests use what is compiled
    return ran, claims


def test_all_studies_run_and_are_written_down(studies, unalike):
    answer = unalike("reproduce", "--all", "--quick", "--out", "here")
    assert answer.code == 0, answer
    assert "3 studies, 4 claims: 2 hold, 0 hard do not hold, 2 soft do not hold." in answer.out
    assert studies[0] == [("one", True), ("two", True), ("three", True)]
    rows = json.loads(Path("here/claims.json").read_text())
    assert [(row["study"], row["id"]) for row in rows] == [
        ("one", "A1"), ("two", "A1"), ("two", "B1"), ("three", "B1")
    ]  # fmt: skip
    text = Path("here/claims.md").read_text()
    assert "| A1 | it \\| is small | 0.1 (Table 1) | <= 0.5 | 0.3 ± 0.1 | holds |" in text
    assert "[Page](three.html)" in text
    assert "it would be &lt;nice&gt;" in Path("here/two.html").read_text()


def test_what_is_finished_is_not_repeated_unless_something_else_is_asked(studies, unalike, monkeypatch):
    ran, _ = studies
    first = unalike("reproduce", "--all", "--quick", "--out", "here", "--json")
    again = unalike("reproduce", "--all", "--quick", "--out", "here", "--json")
    assert (len(ran), first.out) == (3, again.out)
    assert "one: 1 claim: 1 holds" in again.sentence
    assert "(finished before)" in again.sentence
    unalike("reproduce", "--all", "--out", "here")
    assert ran[3:] == [("one", False), ("two", False), ("three", False)]
    monkeypatch.setattr(campaign, "_own_version", lambda: "9.9")
    unalike("reproduce", "--all", "--out", "here")
    assert len(ran) == 9


def test_ctrl_c_says_how_to_go_on_and_the_same_command_does(studies, unalike):
    ran, claims = studies
    claims["two"] = KeyboardInterrupt()
    answer = unalike("reproduce", "--all", "--out", "here")
    assert answer.code == 130
    assert "what is finished is in here, go on with the same command." in answer.sentence
    claims["two"] = [HARD]
    answer = unalike("reproduce", "--all", "--out", "here")
    assert answer.code == 1
    assert [name for name, _ in ran] == ["one", "two", "two", "three"]
    assert json.loads(Path("here/claims.json").read_text())[1]["measured"] == "NaN"


def test_a_file_that_is_no_finished_study_is_written_again(studies, unalike, tmp_path):
    ran, _ = studies
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "one.json").write_text('{"decides": ')
    (folder / "two.json").write_text("[]")
    assert unalike("reproduce", "--all", "--out", "here").code == 0
    assert len(ran) == 3


def test_a_study_that_cannot_run_is_named_and_tried_again(studies, unalike):
    ran, claims = studies
    claims["two"] = ConfigError("it needs Ray.")
    answer = unalike("reproduce", "--all", "--out", "here")
    assert "two: not run, it needs Ray." in answer.sentence
    assert "2 studies, 2 claims: 1 holds" in answer.out
    assert "1 study was not run." in answer.out
    unalike("reproduce", "--all", "--out", "here")
    assert [name for name, _ in ran] == ["one", "two", "three", "two"]


@pytest.mark.parametrize(
    ("words", "said"),
    [(("foundation", "--all"), "leave out 'foundation'"), (("--all", "--full"), "--all goes without --full"),
     (("foundation", "--out", "here"), "--out goes with --full or with --all")],
)  # fmt: skip
def test_contradictions_are_refused(unalike, words, said):
    answer = unalike("reproduce", *words)
    assert answer.code == 2
    assert said in answer.sentence
