"""CSV output that is safe to open in a spreadsheet (no formula injection).

Spreadsheets take a cell that begins with `=`, `+`, `-`, `@`, a tab or a carriage return for a formula. A text
cell that begins so is written with an apostrophe before it; numbers, negative ones too, are written as they
are.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What a cell begins with that a spreadsheet may run."""
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|nan)", re.ASCII | re.IGNORECASE)


def csv_cell(value: object) -> object:
    """A cell of CSV: text that a spreadsheet would take for a formula is escaped, numbers are not.

    >>> csv_cell("=1+2"), csv_cell(" @SUM(A1)"), csv_cell("-0.5"), csv_cell(-0.5), csv_cell("well")
    ("'=1+2", "' @SUM(A1)", '-0.5', -0.5, 'well')
    """
    if not isinstance(value, str):
        return value
    is_formula = value.startswith(FORMULA) or value.lstrip().startswith(FORMULA)
    value = value.replace("\r\n", "\n").replace("\r", "\n")  # csv does not quote a lone carriage return
    return f"'{value}" if is_formula and not _NUMBER.fullmatch(value) else value


def csv_text(head: Iterable[object], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV with safe cells, the header included.

    >>> csv_text(["name", "score"], [["=cmd", -1.5]])
    "name,score\\n'=cmd,-1.5\\n"
    """
    return csv_lines([list(head)]) + csv_lines(rows)


def csv_lines(rows: Iterable[Sequence[object]]) -> str:
    """Lines of CSV with safe cells, without a header."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([csv_cell(cell) for cell in row] for row in rows)
    return text.getvalue()
