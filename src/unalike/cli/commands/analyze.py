"""`unalike analyze`: statistical models of clients' tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import typer

from ...errors import ConfigError
from ..options import parse_settings
from ..screen import LiveRounds, print_aligned, print_json
from .table_options import CLIENT_COLUMN, DATA, load_clients


def analyze(
    formula: str = typer.Argument(
        ..., help="Such as 'rul ~ cycle + (1 | client)', or 'logistic: ill ~ age'."
    ),
    data: str = typer.Option(..., help=DATA),
    client_column: str | None = typer.Option(None, help=CLIENT_COLUMN),
    model: str | None = typer.Option(
        None, help="The analysis (`unalike list analyses`).", show_default="mixed with bars, or linear"
    ),
    settings: list[str] = typer.Option([], "--set", help="Setting of the analysis.", metavar="NAME=VALUE"),
    missing: Literal["drop", "refuse"] = typer.Option(
        "drop", help="What to do with rows with missing values."
    ),
    level: float = typer.Option(0.95, help="Level of intervals."),
    held_out: float | None = typer.Option(
        None, help="Leave this share of every client's rows out of the fit, and print errors on them."
    ),
    contrast: list[str] = typer.Option(
        [], help="Contrast of coefficients to test, such as 'age - 2*bmi'; may be repeated."
    ),
    client: str | None = typer.Option(
        None, help="The client of --contrast and --predict.", show_default="all, or a new one"
    ),
    against: str | None = typer.Option(None, help="With --contrast and --client: subtract this client's."),
    new_device: Path | None = typer.Option(
        None, help="Rows of a client that joins now (.csv, .parquet), with responses; hm2 and gp."
    ),
    predict: Path | None = typer.Option(
        None, help="Rows to predict (.csv, .parquet), for --client, --new-device or a client nobody has met."
    ),
    levels: str | None = typer.Option(
        None, help="With gp: column that says which level of fidelity a row of --data is."
    ),
    highest: str | None = typer.Option(
        None, help="With --levels: the highest level.", show_default="the one with the fewest rows"
    ),
    engine: str = typer.Option("local", help="Where it runs (`unalike list engines`)."),
    out: Path | None = typer.Option(None, help="Run folder, with summary, figures and a page."),
    resume: bool = typer.Option(False, "--resume", help="Resume an interrupted analysis in --out."),
    latex: bool = typer.Option(False, "--latex", help="Print the tables as LaTeX."),
    quiet: bool = typer.Option(False, "--quiet", help="No progress bar."),
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Fit a statistical model to all clients' rows, which stay where they are.

    Example: unalike analyze "sensor11 ~ scale(cycle) + (1 | client)" --data cmapss
    """
    if resume and out is None:
        raise ConfigError("--resume goes on with the folder that --out names; name it.")
    from ...analytics.analyses import choose_analysis, fit_analysis
    from .analyze_results import Asked

    name, words = choose_analysis(formula, model)
    asked = Asked(*(held_out, tuple(contrast), client, against, new_device, predict, levels, highest, level))
    asked.check(name, client_column)
    tables = asked.split(load_clients(data, levels or client_column))
    given = parse_settings(settings)
    with LiveRounds(quiet or json, "analyzing") as observer:
        fitted: Any = fit_analysis(
            tables, words, name, given, missing, engine=engine, out=out, resume=resume, observer=observer
        )
    more = asked.answer(fitted)
    page = None
    if out is not None:
        from ...report.analysis_report import write_analysis

        page = write_analysis(
            out, fitted, {"data": data, "analysis": name, "formula": words, "missing": missing, **given}, more
        )
    if json:
        from ...report.analysis_report import analysis_numbers, table_numbers

        found = {"tables": [table_numbers(table) for table in more]} if more else {}
        print_json({"analysis": name, "formula": words, **analysis_numbers(fitted), **found})
        return
    summary = fitted.full_summary(level).with_tables(more)
    print_aligned(summary.as_latex() if latex else summary.as_text())
    if page is not None:
        print_aligned(f"\nPage with figures: {page}")
