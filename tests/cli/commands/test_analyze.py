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


def test_held_out_errors_contrasts_and_new_devices_are_printed(sites, unalike, tmp_path):
    (tmp_path / "new.csv").write_text("age,sex,y\n30,f,16\n50,m,27\n")
    words = ("analyze", "hm2: y ~ age", "--data", sites, "--set", "rounds=4", "--quiet", "--held-out", "0.2")
    more = ("--contrast", "10*age", "--new-device", tmp_path / "new.csv", "--predict", tmp_path / "new.csv")
    text = unalike(*words, *more, "--out", tmp_path / "run").out
    for part in (
        "error on held-out rows",
        "contrast 10*age",
        "new client new",
        "predictions for a new client",
    ):
        assert part in text
        assert part in (tmp_path / "run" / "summary.txt").read_text()
    titles = [table["title"] for table in unalike(*words, *more, "--json").json["tables"]]
    assert len(titles) == 4


def test_levels_of_fidelity_are_read_from_a_column(unalike, tmp_path):
    rows = [f"cheap,{x / 40},{(x / 40) ** 2 + 1}" for x in range(40)]
    rows += [f"dear,{x / 10},{2 * (x / 10) ** 2}" for x in range(10)]
    (tmp_path / "levels.csv").write_text("\n".join(["fidelity,x,y", *rows]))
    (tmp_path / "at.csv").write_text("x\n0.55\n")
    words = ("analyze", "gp: y ~ x", "--data", tmp_path / "levels.csv", "--levels", "fidelity", "--json")
    words = (*words, "--set", "rounds=5", "--predict", tmp_path / "at.csv", "--held-out", "0.2")
    held, compared, predicted = unalike(*words).json["tables"]
    assert [row["name"] for row in held["rows"]] == ["mean over clients", "cheap", "dear"]
    assert "co-kriging" in [row["name"] for row in compared["rows"]]
    assert predicted["title"] == "predictions for dear"
    assert predicted["rows"][0]["lower"] < 2 * 0.55**2 < predicted["rows"][0]["upper"]
    assert unalike(*words, "--highest", "cheap").json["tables"][2]["title"] == "predictions for cheap"


@pytest.mark.parametrize(
    ("words", "said_"),
    [
        (["y ~ age", "--levels", "sex"], "gp: ..."),
        (["y ~ age", "--against", "site1"], "--contrast and --client"),
        (["y ~ age", "--client", "site1"], "add one of them"),
        (["y ~ age", "--held-out", "1.5"], "below 1"),
        (["y ~ age", "--contrast", "agee"], "age"),
        (["y ~ age", "--predict", "none.csv"], "no file"),
    ],
)
def test_options_that_do_not_go_together_are_one_sentence(sites, unalike, words, said_):
    answer = unalike("analyze", *words, "--data", sites, "--quiet")
    assert answer.code == 2
    assert said_ in answer.sentence
