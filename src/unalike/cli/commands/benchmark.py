"""`unalike benchmark`: a cross-silo benchmark of strategies, by one protocol, in one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from ...core.catalog import check_name
from ...errors import ConfigError, RunError
from ...typing import Row
from ..screen import LiveRounds, console, print_json, show_rows, stderr
from .run import free_folder

if TYPE_CHECKING:
    from ...experiments.benchmark import BenchmarkResult

TABLE, LATEX, CROSS = "results.csv", "results.tex", "transfer.csv"
SPARE = ("megabytes", "rounds", "all rows", "±")
"""Columns that a narrow window can do without."""


def benchmark(
    name: str = typer.Argument(..., help="Benchmark (`unalike list benchmarks`)."),
    strategies: str = typer.Option(
        "pooled,local,cyclic,fedavg,fedprox,scaffold,fedadam,fedyogi,fedadagrad",
        help="Strategies, separated by commas: pooled, local, cyclic, or any algorithm with a server.",
    ),
    seeds: int = typer.Option(3, min=1, help="Seeds; the cut of every center changes with each."),
    budget: int = typer.Option(4, min=1, help="Trials of every strategy on validation rows of each seed."),
    seed: int = typer.Option(0, min=0, help="The first seed."),
    out: Path | None = typer.Option(
        None,
        help="Folder for the tables and the page.",
        show_default="runs/NAME, or with the next free number",
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace results that are in the folder."),
    quiet: bool = typer.Option(False, "--quiet", help="No progress bar."),
    json: bool = typer.Option(False, "--json", help="Print the tidy table as JSON."),
) -> None:
    """Compare strategies on centers that really differ, each tuned with the same budget.

    Rounds follow from the budget of pooled training. The folder gets results.csv (a line for every strategy,
    center and seed), results.tex, transfer.csv (models that centers trained alone, at other centers) and a
    page.

    Example: unalike benchmark heart-like --strategies pooled,local,fedavg --seeds 3
    """
    check_name("benchmarks", name)
    names = list(dict.fromkeys(word.strip() for word in strategies.split(",") if word.strip()))
    if not names:
        raise ConfigError("name at least one strategy, such as --strategies pooled,local,fedavg.")
    from ...experiments.benchmark import run_benchmark

    out = out or free_folder(name)
    if not overwrite and (out / TABLE).exists():
        raise RunError(f"{out} already holds results; choose another --out, or replace it with --overwrite.")
    with LiveRounds(quiet or json) as progress:
        progress.expect(len(names) * seeds * (1 if budget == 1 else budget + 1))
        result = run_benchmark(
            name,
            names,
            seeds=seeds,
            budget=budget,
            first_seed=seed,
            observer=progress,
            announce=progress.rename,
        )
    files = write_results(out, result)
    if json:
        from ...experiments.benchmark.table import cross_rows, tidy_rows

        rows = {"rows": tidy_rows(result), "transfer": cross_rows(result), "notes": list(result.notes)}
        print_json({"benchmark": name, **rows, **files})
        return
    show_result(result)
    console.print(f"Open [bold]{escape(files['report'])}[/bold] in a browser.", soft_wrap=True)


def write_results(out: Path, result: BenchmarkResult) -> dict[str, str]:
    """Write the tables and the page, and say where they are."""
    from ...experiments.benchmark.table import cross_csv, tidy_csv, to_latex
    from ...report import report_benchmark
    from ...runs.atomic import write_bytes

    write_bytes(out / TABLE, tidy_csv(result).encode())
    write_bytes(out / LATEX, to_latex(result).encode())
    transfer = cross_csv(result)
    if transfer:
        write_bytes(out / CROSS, transfer.encode())
    report = report_benchmark(out / "report.html", result)
    return {"table": str(out / TABLE), "latex": str(out / LATEX), "report": str(report)}


def show_result(result: BenchmarkResult) -> None:
    """The table of strategies, models at other centers, and what is not defined."""
    from ...experiments.benchmark.table import cross_rows, mean_rows

    seeds = len(result.of(result.strategies[0]))
    title = f"{result.benchmark.metric} on test rows over {seeds} seed{'' if seeds == 1 else 's'}"
    show_rows(_round_scores(mean_rows(result)), title, spare=SPARE, more="the report has them")
    transfer = cross_rows(result)
    if transfer:
        show_rows(_round_scores(transfer), "models that centers trained alone, at every center")
    for note in result.notes:
        stderr.print(escape(note), highlight=False, soft_wrap=True)


def _round_scores(rows: list[Row]) -> list[Row]:
    return [{k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()} for row in rows]
