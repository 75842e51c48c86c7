"""Does a person hear what was read of their files?"""

from pathlib import Path

import pytest

from unalike.cli.messages import say_warning

SHORT = ("--model", "linear", "--rounds", "1", "--batch-size", "0")


@pytest.fixture
def tables(unalike):
    folder = Path("tables")
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.csv").write_text("sick,age,peak\n" + "1,0.5,0.25\n0,0.75,1.5\n" * 3)
    (folder / "old.xlsx").write_text("")
    return folder


@pytest.mark.parametrize("command", [("run",), ("compare", "--algorithms", "fedavg", "--seeds", "1")])
def test_the_target_is_said_before_training(unalike, tables, command):
    answer = unalike(*command, "--data", tables, *SHORT)
    assert "tables: target 'peak', the last column, a regression (--label COLUMN" in answer.sentence
    assert "not read: old.xlsx." in answer.sentence
    assert unalike(*command, "--data", tables, *SHORT, "--quiet", "--overwrite").err == ""


def test_the_label_is_an_option_of_run_and_inspect(unalike, tables):
    assert unalike("run", "--data", tables, "--label", "sick", *SHORT, "--json").json["test_accuracy"] >= 0
    assert unalike("inspect", tables, "--label", "sick", "--json").json["target"] == "sick"
    assert unalike("inspect", tables, "--json").json["classes"] is None


def test_a_built_in_data_set_says_nothing(unalike):
    assert unalike("run", "--data", "digits", "--clients", "3", *SHORT).err == ""


def test_a_warning_is_a_sentence_without_a_place_in_the_program(capsys):
    say_warning(UserWarning("stiff directions may zigzag."), UserWarning, "/somewhere/else.py", 7)
    say_warning("old", DeprecationWarning, "/somewhere/else.py", 7)
    assert capsys.readouterr().err == "warning: stiff directions may zigzag.\n"
