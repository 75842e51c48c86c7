"""Hints for text columns that were meant as numbers or dates: decimal commas, other dates, bounds."""

from __future__ import annotations

import re

import numpy as np

from .table import Table

_LIKE = {
    r"[-+]?\d+(\.\d{3})*,\d+": "numbers with a decimal comma, which are read as words; write 24.5 for 24,5",
    r"\d{1,2}[./]\d{1,2}[./]\d{2,4}": "dates that are read as words; write 2023-12-31",
    r"[<>]=?\s*\d+([.,]\d+)?|[-+]?\d+(\.\d+)?": "numbers beside bounds such as <5, which make all of it "
    "words; write a number, or leave the field empty",
}
"""What all words of a column look like, and what to say of it."""


def column_hints(table: Table) -> list[str]:
    """What a person should know of columns that look like numbers or dates and are words.

    >>> column_hints(Table.of({"bmi": ["24,5", "31,0"], "lab": ["<5", "7"], "sex": ["f", "m"]}))
    ["column 'bmi' has numbers with a decimal comma, which are read as words; write 24.5 for 24,5", \
"column 'lab' has numbers beside bounds such as <5, which make all of it words; write a number, or leave the \
field empty"]
    """
    found = []
    for name in table.names:
        if table.kind(name) != "words":
            continue
        words = np.unique(table[name][~table.missing(name)]).tolist()
        hint = next((said for like, said in _LIKE.items() if all(re.fullmatch(like, w) for w in words)), None)
        found += [f"column {name!r} has {hint}"] if hint else []
    return found
