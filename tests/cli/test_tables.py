"""Does a table stay readable in a narrow window?"""

import io

import numpy as np
import pytest
from rich.console import Console

from unalike.cli.tables import fit_table, measure_column, room, widths


def printed(rows, width, **options):
    console = Console(width=width, record=True, force_terminal=True, file=io.StringIO())
    console.print(fit_table(rows, width, **options))
    return console.export_text()


def labels(columns, rows=4):
    counts = np.random.default_rng(0).integers(1000, 2000, (rows, columns))
    return [
        {"client": f"c{i}", **{str(k): str(n) for k, n in enumerate(row)}} for i, row in enumerate(counts)
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("columns", [3, 10, 18])
def test_no_number_is_broken_and_no_line_is_too_long(width, columns):
    rows = labels(columns)
    shown = printed(rows, width, spare=[str(k) for k in range(columns)])
    whole = {word for row in rows for word in row.values()}
    assert {word for word in shown.replace("│", " ").split() if word.isdigit() and len(word) > 2} <= whole
    assert max(map(len, shown.splitlines())) <= width


def test_columns_that_are_left_out_are_named():
    shown = printed(labels(18), 60, spare=[str(k) for k in range(18)], more="--json prints all")
    assert "Too narrow for 0, 1" in shown
    assert "--json prints all." in " ".join(shown.split())
    assert "client" in shown


def test_what_cannot_be_left_out_is_shown_row_by_row():
    rows = labels(18)
    shown = printed(rows, 40).split()
    assert all(word in shown for row in rows for word in row.values())


def test_heads_break_between_words_only():
    rows = [{"design": "delta-mbst", "cycle time (ms)": "1.5", "rounds per second": "2.25"}]
    shown = printed(rows, 40)
    assert all(word in shown for word in ("delta-mbst", "cycle", "(ms)", "rounds", "second", "1.5", "2.25"))


def test_an_interval_stays_in_one_line():
    rows = [{"method": "fedavg with a long name that may go on", "accuracy": "0.9184 ± 0.0123"}]
    assert "0.9184 ± 0.0123" in printed(rows, 36)


def test_a_table_is_as_wide_as_it_needs():
    columns = [measure_column("name", ["a", "b"]), measure_column("value", ["1", "22"])]
    assert room(columns, 80, 1)
    assert widths(columns, 80, 1) == [4, 5]


def test_brackets_are_words():
    assert "[bold]" in printed([{"client": "[bold]", "rows": "3"}], 80)
