"""How do these tests talk to the program?  (In this process, by its real entry point, in an empty folder.)"""

import json
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import typer.testing

from unalike import report
from unalike.cli import main
from unalike.runs import RunFolder

TINY = ("--clients", "5", "--model", "linear", "--rounds", "4", "--batch-size", "0")


class Answer(NamedTuple):
    """What a command leaves behind for the person who typed it."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def sentence(self):
        """The error message on one line, whatever the width of the terminal."""
        return " ".join(self.err.split())


@pytest.fixture
def reports():
    """Pages and figures of runs and comparisons are drawn in this test."""


@pytest.fixture(autouse=True)
def no_reports(request, monkeypatch):
    """Drawing takes most of the time of a tiny run; most tests look at something else."""
    if "reports" in request.fixturenames:
        return

    def draw_nothing(where, *_):
        folder = where.path if isinstance(where, RunFolder) else Path(where).parent
        return folder / "report.html"

    for name in ("report_run", "report_comparison"):
        monkeypatch.setattr(report, name, draw_nothing)


@pytest.fixture(scope="session", autouse=True)
def program_built_once():
    """Typer's own test runner builds all commands for every command line."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(typer.testing._get_command))
        yield


@pytest.fixture
def unalike(monkeypatch, tmp_path, capsys):
    """Type a command in an empty folder; anything but a clean exit fails the test with its traceback."""
    monkeypatch.chdir(tmp_path)

    def type_in(*words):
        monkeypatch.setattr(sys, "argv", ["unalike", *map(str, words)])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        return Answer(code, *capsys.readouterr())

    return type_in


@pytest.fixture
def tiny(unalike):
    """`unalike run` on five clients with a linear model, as JSON."""

    def run(*words, out="run"):
        answer = unalike("run", *TINY, *words, "--out", out, "--json")
        assert answer.code == 0, answer
        return Path(out)

    return run


def model_of(folder):
    """The bytes of a run's trained model."""
    return (Path(folder) / "model.safetensors").read_bytes()
