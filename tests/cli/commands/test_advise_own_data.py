"""Do people get advice on their own tables, with every option of data?"""

from pathlib import Path

import pytest
from typer.main import get_command

from unalike.cli import app
from unalike.cli.options import ROWS

COMMANDS = ("sampling", "availability", "constants", "free-riders", "heterogeneity", "stream")
TABLE = "site,age,bp,sick\n" + "".join(f"s{i % 3},{20 + i},{100 + i % 17},{i % 2}\n" for i in range(60))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_data_is_there(command):
    advise = get_command(app).commands["advise"].commands[command]
    options = {option for parameter in advise.params for option in parameter.opts}
    assert {f"--{name.replace('_', '-')}" for name in ROWS} <= options


def test_a_table_of_ones_own_is_advised_on(unalike):
    Path("patients.csv").write_text(TABLE)
    words = ("--data", "patients.csv", "--client-column", "site", "--label", "sick")
    answer = unalike("advise", "sampling", *words, "--per-round", 2, "--json")
    assert answer.code == 0, answer
    assert answer.json["clients"] == 3
    assert "patients.csv" in unalike("advise", "sampling", *words, "--per-round", 2).out


def test_an_option_that_fits_no_data_is_one_sentence(unalike):
    answer = unalike("advise", "sampling", "--client-column", "site")
    assert answer.code == 2
    assert answer.sentence
