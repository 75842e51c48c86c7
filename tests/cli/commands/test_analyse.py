"""Do `unalike statistics` and `unalike analyse` answer as expected, and refuse in one sentence?"""

import numpy as np
import pytest

pytest.importorskip("formulaic")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("sites")
    for k in range(5):
        age = rng.uniform(20, 80, 40)
        sex = rng.choice(["f", "m"], 40)
        y = 1 + 0.5 * age + (sex == "m") + 3 * rng.normal() + rng.normal(size=40)
        rows = "\n".join(f"{a:.3f},{s},{v:.4f},{int(v > 27)}" for a, s, v in zip(age, sex, y, strict=True))
        (path / f"site{k}.csv").write_text(f"age,sex,y,high\n{rows}\n")
    return path


def test_statistics_are_shown_and_printed_for_machines(folder, unalike):
    text = unalike("statistics", folder, "--minimum-cell-count", 5).out
    assert "200" in text
    assert "site3" in text
    found = unalike("statistics", folder, "--json").json
    assert found["columns"]["sex"]["words"].keys() == {"f", "m"}
    assert "Chi-square" in unalike("statistics", folder, "--cross", "sex,sex").out
    assert "component 1" in unalike("statistics", folder, "--columns", "age,y", "--correlations").out


def test_an_analysis_prints_a_summary_and_leaves_a_folder_that_goes_on(folder, unalike, tmp_path):
    where = tmp_path / "run"
    words = ("analyse", "y ~ age + sex + (1 | client)", "--data", folder, "--out", where, "--quiet")
    text = unalike(*words).out
    assert "Mixed model" in text
    assert "sex[T.m]" in text
    made = {path.name for path in where.iterdir()}
    assert {"summary.txt", "summary.tex", "report.html", "metrics.sqlite"} <= made
    assert unalike(*words, "--resume").out == text


def test_analyses_by_name_as_json_and_latex(folder, unalike):
    found = unalike("analyse", "logistic: high ~ age", "--data", folder, "--json").json
    assert found["terms"] == ["Intercept", "age"]
    assert found["params"][1] > 0
    words = ("analyse", "y ~ age", "--data", folder, "--set", "ridge=2", "--latex", "--quiet")
    assert "tabular" in unalike(*words).out


def test_a_process_averages_logarithms_or_hyper_parameters_themselves(folder, unalike):
    words = ("analyse", "gp: y ~ age", "--data", folder, "--set", "rounds=3", "--json")
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
def test_mistakes_are_one_sentence(folder, unalike, words, said_):
    answer = unalike("analyse", *words, "--data", folder)
    assert answer.code == 2
    assert said_ in answer.sentence


def test_tables_that_are_not_there(unalike, tmp_path):
    assert "no file or folder" in unalike("statistics", tmp_path / "nothing").sentence
