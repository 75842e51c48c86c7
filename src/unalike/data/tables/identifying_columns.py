"""Identifying columns: names, notes and ids, which are dropped unless the user keeps them.

A value is *rare* if it is in fewer than RARE rows of all clients. A text column is identifying if at least
FEWEST of its values, and more than half of its different values, are rare; or if it has more than MOST_VALUES
different values. Numbers and dates are never identifying here: only their mean and spread are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from ..dates import all_days
from .table import Table

RARE = 3
"""Rows in which a value must be in order not to be rare."""
FEWEST = 5
"""Rare values that a column may have, however small the table is."""
MOST_VALUES = 100
"""Different values of a column of categories."""


def identifying_columns(tables: Iterable[Table]) -> dict[str, str]:
    """The identifying text columns of clients' tables, and what is said of each.

    >>> people = Table.of({"name": ["Ann", "Bo", "Cy", "Di", "Ed", "Flo"], "sex": ["f", "m"] * 3})
    >>> identifying_columns([people])
    {'name': '6 different values, 6 of them in fewer than 3 rows'}
    """
    counts: dict[str, Counter[str]] = {}
    for table in tables:
        for name in table.names:
            counts.setdefault(name, Counter()).update(_text_values(table, name))
    found = {name: _reason(count) for name, count in counts.items()}
    return {name: reason for name, reason in found.items() if reason is not None}


def _text_values(table: Table, name: str) -> list[str]:
    if table.kind(name) != "words":
        return []
    values = table[name][~table.missing(name)].tolist()
    return [] if all_days(values) is not None else values


def _reason(counts: Counter[str]) -> str | None:
    rare = int((np.array(list(counts.values()), np.int64) < RARE).sum())
    if len(counts) <= MOST_VALUES and (rare < FEWEST or 2 * rare <= len(counts)):
        return None
    return f"{len(counts):,} different values, {rare:,} of them in fewer than {RARE} rows"
