"""Command lines and files that once ended in a traceback or a hang: a result or one sentence today."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from ..cli.conftest import no_reports, unalike  # noqa: F401 - fixtures

TINY = ("--samples", "60", "--clients", "3", "--rounds", "1", "--json")
RUNS = [
    (
        "--data",
        "digits",
        "--model",
        "linear",
        "--behavior",
        "sign-flip",
        "--dishonest",
        "1",
        "--unlearning",
        "full",
    ),
    ("--data", "digits", "--model", "gru"),
    ("--data", "digits", "--model", "rnn"),
    ("--data", "digits", "--model", "lstm"),
    ("--data", "digits", "--model", "rnn:1e308,3"),
    (
        *("--data", "digits", "--model", "linear", "--stream", "constant:5", "--drift", "sudden:2"),
        *("--drift-detector", "kswin:0.1,1e9"),
    ),
    ("--data", "digits", "--model", "linear", "--stream", "x" * 3000),
    ("--data", "digits", "--model", "linear", "--learning-rate", "1e39"),
]
FORMULAS = [
    *("C(label) ~ a", "label ~ I(...)", "label ~ I(b'x')", "label ~ I('x'*3)", "label ~ I([a, a])"),
    *("C(y) ~ x", 'label ~ C(a, contrasts="..")', "label ~ I('a'*3500000000)", "label ~ (a+b)**100000000"),
    *("label ~ C(a, levels=[0]*400000000)", "label ~ " + "*".join(f"I(a+{i})" for i in range(22))),
    "label ~ `__import__('os').system('touch owned')`",
]
RAGGED = [
    {"x": [[0.0, 1.0], [1.0]], "y": [0, 1]},
    {"x": [[0.0] * 784] * 2, "y": ["ill", "well"]},
    {"x": None, "y": [0]},
    {"x": [[0.0] * 784], "y": [[]]},
]


@pytest.fixture
def held(unalike, monkeypatch):  # noqa: F811
    """Type a command, and judge it as fuzzers do."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "tools" / "fuzz"))
    verdicts = import_module("verdicts")

    def type_in(*words):
        answer = unalike(*words)
        verdicts.check_answer(words, answer)
        return answer

    return type_in


@pytest.mark.parametrize("settings", RUNS, ids=lambda words: " ".join(words)[15:60])
def test_settings(held, settings):
    held("run", *settings, *TINY, "--out", "run")


def test_a_comparison_in_which_nothing_varies_for_a_method(held):
    more = ("--data", "digits", "--model", "linear", "--seeds", "1", "--out", "c")
    held("compare", "--algorithms", "local", "--vary", "aggregator=median", *more, *TINY)


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda text: text[:30])
def test_formulas(held, formula):
    pytest.importorskip("formulaic")
    Path("t").mkdir()
    rows = "".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(30))
    Path("t/s.csv").write_text("a,b,label\n" + rows)
    held("analyse", formula, "--data", "t", "--json")
    assert not Path("owned").exists()


@pytest.mark.parametrize("rows", RAGGED, ids=["ragged", "text labels", "nothing", "nested labels"])
def test_leaf_files(held, monkeypatch, rows):
    Path("femnist/train").mkdir(parents=True)
    document = {"users": ["u"], "num_samples": [2], "user_data": {"u": rows}}
    Path("femnist/train/a.json").write_text(json.dumps(document))
    monkeypatch.setenv("UNALIKE_DATA", str(Path.cwd()))
    assert held("inspect", "femnist", "--json").code == 2


def test_more_rounds_than_fit_and_pictures_of_no_format(held):
    held("run", "--data", "digits", "--model", "linear", *TINY, "--out", "run")
    assert held("resume", "run", "--rounds", "99999999999999999999999", "--json").code == 2
    assert held("network", "show", "--picture", "map.txt", "--json").code == 2
