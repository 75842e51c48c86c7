"""`unalike statistics` and `unalike analyse`: descriptive statistics and models of clients' tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from ...errors import ConfigError
from ...typing import Document
from ..options import parse_settings
from ..screen import LiveRounds, print_aligned, print_json

if TYPE_CHECKING:
    from ...data.tables import Tables

_DATA = "Tables: a name (`unalike list tables`), a folder with one .csv or .parquet per client, or one file."
_CLIENT_COLUMN = "Column that says whose a row is, for one file with all clients."


def statistics(
    data: str = typer.Argument(..., help=_DATA),
    client_column: str | None = typer.Option(None, help=_CLIENT_COLUMN),
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
    """Count, average and tabulate columns over all clients; rows stay where they are.

    Means, variances, correlations and components are exactly those of all rows together. Between
    organizations: `unalike serve --statistics` and `unalike join --table`.

    Example: unalike statistics heart_disease --minimum-cell-count 5
    """
    from ...analytics.statistics import LocalNodes, count_in_bins, cross_table, describe

    nodes = LocalNodes(_tables(data, client_column), minimum_cell_count)
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


def analyse(
    formula: str = typer.Argument(
        ..., help="Such as 'rul ~ cycle + (1 | client)', or 'logistic: ill ~ age'."
    ),
    data: str = typer.Option(..., help=_DATA),
    client_column: str | None = typer.Option(None, help=_CLIENT_COLUMN),
    model: str | None = typer.Option(
        None, help="The analysis (`unalike list analyses`).", show_default="mixed with bars, or linear"
    ),
    settings: list[str] = typer.Option([], "--set", help="Setting of the analysis.", metavar="NAME=VALUE"),
    gaps: Literal["drop", "refuse"] = typer.Option("drop", help="What to do with rows that have gaps."),
    level: float = typer.Option(0.95, help="Level of intervals."),
    engine: str = typer.Option("local", help="Where it runs (`unalike list engines`)."),
    out: Path | None = typer.Option(None, help="Run folder, with summary, figures and a page."),
    resume: bool = typer.Option(False, "--resume", help="Go on with an interrupted analysis in --out."),
    latex: bool = typer.Option(False, "--latex", help="Print the tables as LaTeX."),
    quiet: bool = typer.Option(False, "--quiet", help="No progress bar."),
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Fit a statistical model to all clients' rows, which stay where they are.

    Example: unalike analyse "sensor11 ~ scale(cycle) + (1 | client)" --data cmapss
    """
    if resume and out is None:
        raise ConfigError("--resume goes on with the folder that --out names; name it.")
    from ...analytics.analyses import choose_analysis, fit_analysis

    name, words = choose_analysis(formula, model)
    tables = _tables(data, client_column)
    given = parse_settings(settings)
    with LiveRounds(quiet or json, "analyzing") as observer:
        fitted: Any = fit_analysis(
            tables, words, name, given, gaps, engine=engine, out=out, resume=resume, observer=observer
        )
    page = None
    if out is not None:
        from ...report.analysis_report import write_analysis

        page = write_analysis(
            out, fitted, {"data": data, "analysis": name, "formula": words, "gaps": gaps, **given}
        )
    if json:
        from ...report.analysis_report import analysis_numbers

        print_json({"analysis": name, "formula": words, **analysis_numbers(fitted)})
        return
    summary = fitted.full_summary(level)
    print_aligned(summary.as_latex() if latex else summary.as_text())
    if page is not None:
        print_aligned(f"\nPage with figures: {page}")


def _tables(data: str, client_column: str | None) -> Tables:
    from ...data.tables import load_tables

    return load_tables(data, client_column)


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
