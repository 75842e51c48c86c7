"""Does `unalike analyze` answer as expected, and refuse in one sentence?"""

import pytest

pytest.importorskip("formulaic")


def test_an_analysis_prints_a_summary_and_leaves_a_folder_that_goes_on(sites, unalike, tmp_path):
    where = tmp_path / "run"
    words = ("analyze", "y ~ age + sex + (1 | client)", "--data", sites, "--out", where, "--quiet")
    text = unalike(*words).out
    assert "Mixed model" in text
    assert "sex[T.m]" in text
    made = {path.name for path in where.iterdir()}
    assert {"summary.txt", "summary.tex", "report.html", "metrics.sqlite"} <= made
    assert unalike(*words, "--resume").out == text


def test_the_british_spelling_does_the_same_and_is_not_shown(sites, unalike):
    words = ("y ~ age", "--data", sites, "--json")
    american, british = (unalike(name, *words) for name in ("analyze", "analyse"))
    assert british.code == 0
    assert british.json.keys() == american.json.keys()
    assert british.json["params"] == american.json["params"]
    assert "analyse" not in unalike("--help").out
    assert "analyse" not in unalike("analyzes").sentence


def test_analyses_by_name_as_json_and_latex(sites, unalike):
    found = unalike("analyze", "logistic: high ~ age", "--data", sites, "--json").json
    assert found["terms"] == ["Intercept", "age"]
    assert found["params"][1] > 0
    words = ("analyze", "y ~ age", "--data", sites, "--set", "ridge=2", "--latex", "--quiet")
    assert "tabular" in unalike(*words).out


def test_a_process_averages_logarithms_or_hyper_parameters_themselves(sites, unalike):
    words = ("analyze", "gp: y ~ age", "--data", sites, "--set", "rounds=3", "--json")
    logs, natural = (unalike(*words, *more).json for more in ((), ("--set", "parametrization=natural")))
    assert logs != natural
    refused = unalike(*words, "--set", "scaling=theory", "--set", "parametrization=log")
    assert "leave out parametrization" in refused.json["error"]


@pytest.mark.parametrize(
    ("words", "said_"),
    [
        (["y ~ agee"], "agee"),
        (["y ~ age +"], "position 9"),
        (["lineal: y ~ age"], "linear"),
        (["y ~ age", "--set", "rigde=1"], "ridge"),
        (["y ~ age", "--resume"], "--out"),
        (["logistic: y ~ age"], "0 or 1"),
    ],
)
def test_mistakes_are_one_sentence(sites, unalike, words, said_):
    answer = unalike("analyze", *words, "--data", sites)
    assert answer.code == 2
    assert said_ in answer.sentence
