"""Does `unalike advise sampling` say which scheme to use, for people and for machines?"""

import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from unalike.cli.advise import advise
from unalike.errors import ConfigError, UnalikeError

FEW = ("--clients", "6", "--samples", "200", "--per-round", "2")


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Type `unalike advise sampling ...` in an empty folder; a user's mistake is raised."""
    monkeypatch.chdir(tmp_path)

    def type_in(*words):
        answer = CliRunner().invoke(advise, ["sampling", *map(str, words)], env={"COLUMNS": "100"})
        if isinstance(answer.exception, UnalikeError):
            raise answer.exception
        assert answer.exception is None, answer.exception
        return " ".join(answer.output.split())

    return type_in


def test_people_see_a_table_and_a_verdict(ask):
    output = ask(*FEW, "--partition", "lognormal:1")
    for word in ("md", "uniform", "poisson", "clustered-size", "Sigma", "gamma", "V(sum)", "biased"):
        assert word in output
    assert "2 of 6 clients each round" in output
    assert "Use clustered-size: its weights sum to one" in output


def test_equal_importance_calls_for_uniform_draws(ask):
    assert "Use uniform: all clients count the same" in ask(*FEW, "--importance", "equal")


def test_machines_get_json_with_every_number(ask):
    answer = json.loads(ask(*FEW, "--importance", "equal", "--json"))
    assert (answer["clients"], answer["per_round"], answer["recommended"]) == (6, 2, "uniform")
    rows = {row["scheme"]: row for row in answer["schemes"]}
    assert rows["md"]["gamma"] == pytest.approx(1 / 2)
    assert rows["uniform"]["gamma"] == pytest.approx(1 / 2 * 4 / 5)
    assert rows["fedavg-original"]["gamma"] is None
    assert answer["plot"] is None


def test_importance_may_come_from_a_file(ask, tmp_path):
    (tmp_path / "importance.csv").write_text("0.9\n0.02,0.02\n0.02 0.02\n0.02\n")
    answer = json.loads(ask(*FEW, "--importance", "importance.csv", "--json"))
    rows = {row["scheme"]: row for row in answer["schemes"]}
    squares = 0.81 + 5 * 0.0004
    assert rows["md"]["total_variance"] == pytest.approx((1 - squares) / 2)
    assert "needs no importance above 1/2" in rows["poisson"]["note"]
    assert "(uniform)" in answer["warnings"][0]
    assert "diverges once" in ask(*FEW, "--importance", "importance.csv")


def test_a_picture_is_drawn_where_asked(ask, tmp_path):
    ask(*FEW, "--plot", "pictures/variance.png")
    assert (tmp_path / "pictures" / "variance.png").read_bytes().startswith(b"\x89PNG")


def test_equal_seeds_give_equal_answers(ask):
    words = (*FEW, "--partition", "lognormal:1", "--json")
    assert ask(*words, "--seed", 1) == ask(*words, "--seed", 1) != ask(*words, "--seed", 2)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--per-round", "7"), r"per_round must be between 1 and the number of clients \(6\), but is 7"),
        (("--importance", "nowhere.txt"), "importance must be data or equal, or a file"),
        (("--importance", "short.txt"), r"importance needs one number per client \(6\)"),
        (("--importance", "half.txt"), "importance must sum to one, but sums to 0.6"),
        (("--data", "digit"), "did you mean 'digits'"),
        (("--partition", "dirichlett:1"), "did you mean 'dirichlet'"),
    ],
    ids=lambda given: given[1] if isinstance(given, tuple) else "",
)
def test_a_mistake_is_one_sentence(ask, tmp_path, words, sentence):
    (tmp_path / "short.txt").write_text("0.5 0.5")
    np.savetxt(tmp_path / "half.txt", np.full(6, 0.1))
    with pytest.raises(ConfigError, match=sentence):
        ask(*FEW, *words)


def test_it_can_be_a_part_of_the_whole_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = typer.Typer()
    whole.add_typer(advise, name="advise")
    answer = CliRunner().invoke(whole, ["advise", "sampling", *FEW, "--json"])
    assert answer.exit_code == 0
    assert json.loads(answer.output)["clients"] == 6
    assert not list(tmp_path.iterdir())
