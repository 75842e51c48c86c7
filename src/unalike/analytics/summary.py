"""Summary tables of estimates as text, HTML and LaTeX.

A :class:`Summary` is a title, facts (pairs of words), tables and notes. Estimators build one; whoever reads
it chooses the form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

from ..core.latex import escape_latex, latex_table

Cell = str | float | int | None


def show_number(value: Cell, digits: int = 4) -> str:
    """A cell as people write it: words as they are, numbers with so many significant digits.

    >>> show_number(0.123456), show_number(1234567.0), show_number(3), show_number(None)
    ('0.1235', '1.235e+06', '3', '')
    """
    if value is None:
        return ""
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class SummaryTable:
    """Rows of cells below a header; the first column holds names."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def cells(self) -> list[list[str]]:
        """Every cell as text."""
        return [[show_number(cell) for cell in row] for row in self.rows]

    def as_latex(self) -> str:
        """For a paper: a `tabular` without the title."""
        return latex_table(self.header, [[escape_latex(cell) for cell in row] for row in self.cells()])


@dataclass(frozen=True)
class Summary:
    """A result to print.

    >>> table = SummaryTable("coefficients", ("", "estimate", "std. error"), (("age", 0.5, 0.125),))
    >>> print(Summary("Least squares", (("rows", 40),), (table,)))
    Least squares
    rows  40
    <BLANKLINE>
    coefficients
         estimate  std. error
    age       0.5       0.125
    """

    title: str
    facts: tuple[tuple[str, Cell], ...] = ()
    tables: tuple[SummaryTable, ...] = ()
    notes: tuple[str, ...] = ()

    def with_tables(self, more: Sequence[SummaryTable]) -> Summary:
        """The same with further tables below."""
        return replace(self, tables=(*self.tables, *more))

    def __str__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return self.as_html()

    def as_text(self) -> str:
        """For a terminal."""
        parts = ["\n".join([self.title, *_align_columns([[name, show_number(v)] for name, v in self.facts])])]
        for table in self.tables:
            parts.append("\n".join([table.title, *_align_columns([list(table.header), *table.cells()])]))
        parts.extend(self.notes)
        return "\n\n".join(parts)

    def as_html(self) -> str:
        """For a page; names of columns and clients cannot break it."""
        facts = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(show_number(v))}</td></tr>" for name, v in self.facts
        )
        tables = "".join(_html_table(table) for table in self.tables)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<section><h3>{escape(self.title)}</h3><table>{facts}</table>{tables}{notes}</section>"

    def as_latex(self) -> str:
        """For a paper: one `tabular` per table, and the notes below."""
        notes = [rf"\noindent {escape_latex(note)}" for note in self.notes]
        return "\n".join([*(table.as_latex() for table in self.tables), *notes])


def _align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines in which columns are below each other: the first to the left, the others to the right."""
    if not rows:
        return []
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return lines


def _html_table(table: SummaryTable) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row(cells, "td") for cells in table.cells())
    return f"<h4>{escape(table.title)}</h4><table>{row(table.header, 'th')}{body}</table>"
