"""Tables for the terminal that fit a narrow window without breaking numbers.

Names may go on in the next line, heads between their words, numbers never. A table that is too wide first
loses the space beside its lines, then columns that may be left out, which is said below it; what is still too
wide is shown row by row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ..typing import Fields

_NUMBER = re.compile(r"[-+−]?[\d.,]+(e[-+]?\d+)?( ?%)?|[-+]?inf|nan|failed|–|±|")
_NARROW = 24
"""Longer words than this may be broken; shorter ones are names that somebody will type."""
Row = Mapping[str, str]


class Column(NamedTuple):
    """The least and the most room that a column takes."""

    head: str
    numeric: bool
    least: int
    most: int


def fit_table(
    rows: Sequence[Row], width: int, title: str = "", spare: Sequence[str] = (), more: str = ""
) -> RenderableType:
    """The table for a window of that width; `spare` are columns that may be left out, the first one first,
    and `more` says where they can be read."""
    columns = [measure_column(head, [row[head] for row in rows]) for head in (rows[0] if rows else ())]
    left_out: list[str] = []
    while not room(columns, width, padding=0) and (spare := [h for h in spare if h not in left_out]):
        left_out.append(spare[0])
        columns = [column for column in columns if column.head != spare[0]]
    if columns and not room(columns, width, padding=0):
        return _by_row(rows, title)
    table = _draw_table(rows, columns, width, title)
    if not left_out:
        return table
    ordered = [head for head in rows[0] if head in left_out]
    note = f"Too narrow for {', '.join(map(_words, ordered))}{f': {more}' if more else ''}."
    return Group(table, Text(note, style="dim"))


def measure_column(head: str, cells: Sequence[str]) -> Column:
    """How much room a column takes: a number all of it, a head its longest word."""
    numeric = all(_NUMBER.fullmatch(part) for cell in cells for part in cell.split(" "))
    most = max(map(cell_len, (_words(head), *cells)))
    words = [cell_len(word) for word in _words(head).split()]
    widest = max(map(cell_len, cells), default=0)
    longest = max((cell_len(word) for cell in cells for word in cell.split()), default=0)
    least = max(*words, widest if numeric else min(longest, _NARROW), 1)
    return Column(head, numeric, least, most)


def room(columns: Sequence[Column], width: int, padding: int) -> bool:
    """Whether the columns fit, with so many spaces on both sides of every cell and lines between them."""
    return sum(column.least for column in columns) <= _inside(columns, width, padding)


def widths(columns: Sequence[Column], width: int, padding: int) -> list[int]:
    """What each column gets: the least, and of the rest as much as it can use, where most lines would be."""
    given = [column.least for column in columns]
    for _ in range(_inside(columns, width, padding) - sum(given)):
        lines = [column.most / have for column, have in zip(columns, given, strict=True)]
        if max(lines, default=1) <= 1:
            break
        given[lines.index(max(lines))] += 1
    return given


def _inside(columns: Sequence[Column], width: int, padding: int) -> int:
    return width - (2 * padding + 1) * len(columns) - 1


def _draw_table(rows: Sequence[Row], columns: Sequence[Column], width: int, title: str) -> Table:
    padding = 1 if room(columns, width, 1) else 0
    table = Table(title=escape(title) or None, title_justify="left", padding=(0, padding))
    for column, size in zip(columns, widths(columns, width, padding), strict=True):
        table.add_column(
            escape(_words(column.head)),
            width=size,
            overflow="fold",
            justify="right" if column.numeric else "left",
        )
    for row in rows:
        table.add_row(*(escape(row[column.head]) for column in columns))
    return table


def _by_row(rows: Sequence[Row], title: str) -> RenderableType:
    """Every row as a block of its own: its first cell, and below it the others with their heads."""
    blocks: list[RenderableType] = [Text(title, style="italic")] if title else []
    for row in rows:
        (_, name), *others = row.items()
        grid = Table.grid(padding=(0, 2))
        for head, cell in others:
            grid.add_row(f"  {escape(_words(head))}", escape(cell))
        blocks += [Text(name, style="bold"), grid]
    return Group(*blocks)


def _words(head: str) -> str:
    return head.replace("_", " ")


def as_text(value: Any) -> str:
    """What stands in a cell."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)


def show(console: Console, rows: Sequence[Fields], title: str, spare: Sequence[str], more: str) -> None:
    """Print rows as a table as wide as the console at most."""
    texts = [{head: as_text(row.get(head)) for head in rows[0]} for row in rows]
    console.print(fit_table(texts, console.width, title, spare, more))
