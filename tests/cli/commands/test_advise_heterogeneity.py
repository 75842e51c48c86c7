"""Do `unalike advise heterogeneity` and `unalike inspect --similarity` answer people and machines?"""

import json

import pytest
from typer.testing import CliRunner

from unalike.cli import app
from unalike.errors import ConfigError

from .test_advise import type_in

FEW = ("heterogeneity", "--clients", "8", "--samples", "600", "--partition", "imbalance:10,0")


def test_people_read_the_verdict_and_what_to_use():
    output = type_in(*FEW, "--per-round", "3", "--rounds", "5")
    for word in ("features", "labels", "gradients", "losses", "homogeneity", "cohort", "Use ", "mean row"):
        assert word in output


def test_machines_get_everything_and_files_are_written(tmp_path):
    plot, page = tmp_path / "a.png", tmp_path / "a.html"
    places = ("--plot", str(plot), "--page", str(page))
    answer = json.loads(type_in(*FEW, "--model", "none", "--json", *places))
    assert answer["ratio"] < 0.9
    assert len(answer["eigenvalues"]) == len(answer["importance"]) == 8
    assert sum(answer["importance"]) == pytest.approx(1)
    assert [row["name"] for row in answer["measures"]] == ["features", "labels"]
    assert plot.stat().st_size > 10_000
    assert "Unalike report" in page.read_text()


def test_who_is_available_is_measured():
    answer = json.loads(
        type_in(*FEW, "--availability", "markov:0.6,0.5", "--rounds", "4", "--model", "none", "--json")
    )
    assert answer["cohorts"]["available_mean"] > 0


def test_blurred_messages_cost_homogeneity():
    plain = json.loads(type_in(*FEW, "--model", "none", "--json"))
    noisy = json.loads(type_in(*FEW, "--model", "none", "--json", "--privacy", "gaussian:1,1e-5"))
    assert noisy["homogeneity"] < plain["homogeneity"]
    assert not any("mean row" in words for words in noisy["warnings"])


def test_noisier_or_fewer_rows_are_tried():
    what_if = json.loads(type_in(*FEW, "--model", "none", "--noise", "0.5", "--keep", "0.5", "--json"))[
        "what_if"
    ]
    assert what_if["homogeneity_after"] < what_if["homogeneity_before"]
    assert what_if["squared_deviation"]["measured"] > 0
    assert "what if" in type_in(*FEW, "--model", "none", "--keep", "0.5")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--privacy", "secret"), "unknown message privacy"),
        (("--privacy", "gaussian:0"), "not possible"),
        (("--model", "none", "--keep", "2"), r"in \(0, 1\]"),
        (("--partition", "imbalance:-1"), "class imbalance of -1"),
        (("--plot", "no/such/folder/a.png"), "no folder"),
    ],
)
def test_a_mistake_is_one_sentence(words, sentence):
    with pytest.raises(ConfigError, match=sentence):
        type_in(*FEW, *words)


def test_inspect_draws_similarity_beside_the_partition(tmp_path):
    words = ["inspect", "digits", "--samples", "600", "--clients", "6", "--similarity"]
    picture = ["--picture", str(tmp_path / "p.png")]
    shown = CliRunner().invoke(app, [*words, *picture], catch_exceptions=False)
    assert "similarity ratio" in shown.stdout
    answer = json.loads(CliRunner().invoke(app, [*words, *picture, "--json"]).stdout)
    assert answer["similarity"]["homogeneity"] > 1
    assert {path.name for path in tmp_path.iterdir()} == {"p.png", "p-similarity.png", "p-similarity.html"}


def test_the_graph_can_have_fewer_edges(tmp_path):
    full, few = (
        json.loads(type_in(*FEW, "--model", "none", "--json", "--graph", graph))
        for graph in ("full", "knn:2")
    )
    assert few["homogeneity"] == full["homogeneity"]
    assert few["edges"] < full["edges"] == 28
    assert "Graph epsilon:0.2 joins" in type_in(*FEW, "--model", "none", "--graph", "epsilon:0.2")
    drawn = ("inspect", "digits", "--clients", "8", "--samples", "600", "--picture", str(tmp_path / "a.png"))
    answer = CliRunner().invoke(app, [*drawn, "--similarity", "--graph", "knn:2", "--json"])
    assert json.loads(answer.stdout)["similarity"]["graph"] == "knn:2"
    refused = CliRunner().invoke(app, [*drawn, "--graph", "knn:2"])
    assert isinstance(refused.exception, ConfigError)
    assert "say --similarity" in str(refused.exception)
