"""`unalike statistics`: descriptive statistics of clients' tables."""

from __future__ import annotations

from typing import Any

import typer

from ...errors import ConfigError
from ...typing import Document
from ..screen import print_aligned, print_json
from .table_options import CLIENT_COLUMN, DATA, load_clients


def statistics(
    data: str = typer.Argument(..., help=DATA),
    client_column: str | None = typer.Option(None, help=CLIENT_COLUMN),
    columns: str | None = typer.Option(None, help="Only these columns, separated by commas."),
    cross: str | None = typer.Option(None, help="Two columns of words to count together, such as sex,ill."),
    histogram: str | None = typer.Option(None, help="Count the numbers of one column in bins."),
    correlations: bool = typer.Option(False, "--correlations", help="Correlations and principal components."),
    minimum_cell_count: int = typer.Option(
        1, min=1, help="Answer as nodes would that disclose no cell of fewer rows (`join --table`)."
    ),
    latex: bool = typer.Option(False, "--latex", help="Print the tables as LaTeX."),
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Compute descriptive statistics of columns over all clients; rows stay where they are.

    Means, variances, correlations and components are exactly those of all rows together. Between
    organizations: `unalike serve --statistics` and `unalike join --table`.

    Example: unalike statistics heart_disease --minimum-cell-count 5
    """
    from ...analytics.statistics import LocalNodes, count_in_bins, cross_table, describe

    nodes = LocalNodes(load_clients(data, client_column), minimum_cell_count)
    chosen = None if columns is None else _words(columns)
    found: list[Any]
    if cross is not None:
        pair = _words(cross)
        if len(pair) != 2:
            raise ConfigError("--cross takes two columns, such as sex,ill.")
        found = [cross_table(nodes, *pair)]
    elif histogram is not None:
        found = [count_in_bins(nodes, histogram)]
    else:
        described = describe(nodes, chosen)
        if json:
            print_json(described.as_dict())
            return
        found = [described]
        if correlations:
            from ...analytics.statistics.relations import relate

            found.append(relate(nodes, described.agreed.numbers()))
    if json:
        print_json([_plain(one) for one in found])
        return
    for one in found:
        print_aligned(one.summary().as_latex() if latex else one.summary().as_text())


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _plain(found: Any) -> Document:
    """The tables of a summary, for JSON."""
    summary = found.summary()
    tables = {
        table.title: [dict(zip(table.header, row, strict=True)) for row in table.rows]
        for table in summary.tables
    }
    return {"title": summary.title, **dict(summary.facts), "tables": tables, "notes": list(summary.notes)}
