"""A spreadsheet runs nothing that we write, and numbers stay numbers."""

import csv
import io

import numpy as np
import pytest

from unalike.core.csv_text import csv_cell, csv_text

ATTACKS = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "-", "=", "+cmd|' /C calc'!A0"]
NUMBERS = ["-0.5", "+3", "-1e-30", "-inf", -1, -0.5, np.float64(-2), None, "", "nan"]


@pytest.mark.parametrize("text", ATTACKS)
def test_formulas_are_escaped_in_cells_and_heads(text):
    (head,), (cell,) = csv.reader(io.StringIO(csv_text([text], [[text]]), newline=""))
    assert head == cell == "'" + text.replace("\r", "\n")


@pytest.mark.parametrize("value", NUMBERS)
def test_numbers_stay_numbers(value):
    assert csv_cell(value) == value or csv_cell(value) is value


def test_a_column_called_like_a_formula_with_digits_at_its_end_is_text():
    assert csv_cell("-1_0") == "'-1_0"
    assert csv_cell("-٣") == "'-٣"
