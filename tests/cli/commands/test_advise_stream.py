"""Does `unalike advise stream` say what historical data should count, for people and for machines?"""

import json

import pytest

from unalike.errors import ConfigError

from .test_advise import type_in

FEW = ("--clients", "6", "--samples", "200")


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Type `unalike advise stream ...` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: type_in("stream", *FEW, *words)


def test_people_see_strategies_side_by_side_and_which_to_use(ask):
    output = ask("--ratio", "0.5")
    for word in ("fresh", "historical", "uniform", "memory-size", "fixed", "optimal", "bound", "noise"):
        assert word in output
    assert "6 clients, 3 of them fresh, c2/c1 = 0.5" in output
    assert "Use optimal: historical clients hold" in output


def test_without_a_ratio_it_is_estimated_and_said_from_what(ask):
    answer = json.loads(ask("--model", "linear", "--json"))
    assert answer["constants"]["parameters"] == 650
    assert answer["ratio"] > 0
    assert "Estimated: D =" in ask("--model", "linear")
    longer = json.loads(ask("--model", "linear", "--steps", "40", "--json"))
    assert longer["ratio"] < answer["ratio"]


def test_historical_clients_may_be_counted_or_named_in_a_file(ask, tmp_path):
    (tmp_path / "kept.txt").write_text("4 5")
    answer = json.loads(ask("--ratio", "0.1", "--historical", "kept.txt", "--json"))
    assert answer["fresh"] == 4
    assert answer["importance"][4] > 0
    assert json.loads(ask("--ratio", "0.1", "--historical", "5", "--json"))["fresh"] == 1
    assert "all rows stay" in ask("--historical", "6")
    assert (
        json.loads(ask("--historical", "3", "--ratio", "0", "--json"))["strategies"][0]["cost"] == "Infinity"
    )


def test_the_share_of_historical_rows_gives_the_published_weight(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("--clients", "50", "--partition", "iid", "--historical", "25", "--ratio", "0.15", "--json")
    for share, weight in ((0.05, 0.12), (0.2, 0.45), (0.5, 0.95)):
        answer = json.loads(type_in("stream", *words, "--historical-share", str(share)))
        assert answer["historical_rows"] == pytest.approx(share, abs=0.01)
        assert answer["strategies"][-1]["historical"] == pytest.approx(weight, abs=0.02)


def test_a_target_is_one_more_strategy_and_pulls(ask):
    far, near = (
        json.loads(ask("--ratio", "0.5", "--target", "equal", "--discrepancy", part, "--json"))
        for part in ("0", "0.9")
    )
    assert far["target"] == near["target"] == "equal"
    assert near["strategies"][-1]["strategy"] == "target"
    assert near["strategies"][-1]["cost"] < far["strategies"][-1]["cost"]
    assert near["importance"] == pytest.approx([1 / 6] * 6)
    words = ask("--ratio", "0.5", "--target", "equal")
    assert "target weights equal" in words
    assert "from the target" in words or "at the target" in words
    estimated = json.loads(ask("--model", "linear", "--target", "equal", "--json"))
    assert estimated["strategies"][-2]["cost"] == 1


def test_a_picture_is_drawn_where_asked(ask, tmp_path):
    assert json.loads(ask("--ratio", "0.5", "--plot", "costs.png", "--json"))["plot"] == "costs.png"
    assert (tmp_path / "costs.png").read_bytes().startswith(b"\x89PNG")
    ask("--ratio", "0", "--historical", "0", "--plot", "costs.png")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--historical", "7"), "7 clients cannot be historical: there are 6"),
        (("--historical", "nowhere.txt"), "a number of clients, or a file of their numbers: nowhere.txt"),
        (("--historical", "half.txt"), "whole numbers of clients"),
        (("--historical", "far.txt", "--ratio", "1"), "historical client 9 is not one of 6 clients"),
        (("--ratio", "-1"), "ratio c2/c1 must not be negative"),
        (("--ratio", "1", "--fixed", "2"), "between 0 and 1"),
        (("--ratio", "1", "--target", "eqaul"), "must be data or equal, or a file"),
        (("--discrepancy", "0.5"), "goes with ratio"),
        (("--historical-share", "0.2", "--historical", "half.txt"), "must be a number of clients"),
        (("--historical-share", "2"), "historical_share = 2.0 is not possible"),
    ],
    ids=lambda given: given[1] if isinstance(given, tuple) else "",
)
def test_a_mistake_is_one_sentence(ask, tmp_path, words, sentence):
    (tmp_path / "half.txt").write_text("0.5")
    (tmp_path / "far.txt").write_text("9")
    with pytest.raises(ConfigError, match=sentence):
        ask(*words)
