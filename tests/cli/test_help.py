"""Is help readable, whichever Typer is installed?"""

import pytest

from unalike.cli import help as cli_help
from unalike.cli.options import FIELDS

COMMANDS = [
    ("run",), ("resume",), ("compare",), ("tune",), ("list",), ("inspect",), ("reproduce",), ("certs",),
    ("audit",), ("serve",), ("join",), ("advise", "sampling"), ("advise", "stream"), ("advise", "timing"),
    ("advise", "free-riders"), ("advise", "heterogeneity"), ("network", "design"), ("report",),
    ("runs", "list"), ("runs", "compare"), ("runs", "clean"),
]  # fmt: skip


@pytest.mark.parametrize("words", [(), *COMMANDS])
def test_help_has_no_markup_and_fits(unalike, monkeypatch, words):
    monkeypatch.setenv("COLUMNS", "80")
    shown = unalike(*words, "--help")
    assert shown.code == 0
    assert not any(odd in shown.out for odd in ("\\[", "[default", "not given)", " RANGE", "default: None"))
    assert max(len(line) for line in shown.out.splitlines()) <= 80


@pytest.mark.parametrize(
    ("words", "explanation"),
    [
        (("run",), "A TOML file that describes the experiment"),
        (("resume",), "The run folder. (required)"),
        (("inspect",), "path of a folder of clients"),
    ],
)
def test_arguments_are_explained(unalike, words, explanation):
    arguments = unalike(*words, "--help").out.partition("Arguments:")[2].partition("Options:")[0]
    assert explanation in " ".join(arguments.split())


def test_options_are_in_groups(unalike):
    shown = unalike("run", "--help").out
    heads = [line[:-1] for line in shown.splitlines() if line[:1].isalpha() and line.endswith(":")]
    assert heads == ["Arguments", *(title for title in cli_help.GROUPS if title != cli_help.REST)]
    assert "--algorithm" in shown.partition("Method:")[2].partition("Participation:")[0]


def test_every_group_is_of_settings_that_exist():
    grouped = [name for title, names in cli_help.GROUPS.items() if title != "Output" for name in names]
    assert set(grouped) <= {*FIELDS, "target"}  # a short stop_at of `unalike run`
    assert len(grouped) == len(set(grouped))


@pytest.mark.parametrize(("words", "meant"), [(("lst",), "list"), (("network", "comp"), "compare")])
def test_a_misspelt_command_is_answered_once(unalike, words, meant):
    answer = unalike(*words)
    assert answer.code == 2
    assert answer.sentence.count(f"did you mean '{meant}'?") == 1
    assert answer.sentence.lower().count("did you mean") == 1
