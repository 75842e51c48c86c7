"""`unalike compare`: the same experiment with several algorithms over several seeds, in one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from ...core.catalogue import check_name
from ...errors import ConfigError, unknown
from ...experiments.config import Experiment
from ..messages import say_data
from ..screen import LiveRounds, console, print_json, show_rows
from .run import free_folder

if TYPE_CHECKING:
    from ...experiments.compare import Trials
    from ...runs import Comparison


SPARE = ("loss spread", "clients' mean", "unseen", "bottom decile", "spread", "worst group", "discrepancy")
"""Columns that a narrow window can do without."""


def compare(
    experiment: Experiment,
    algorithms: str = typer.Option(
        "fedavg,fedprox,scaffold,local,fedavg+", help="Algorithms, separated by commas."
    ),
    seeds: int = typer.Option(
        3, min=1, help="Seeds; data, partition, start and participation change with each."
    ),
    vary: list[str] = typer.Option(
        [],
        help="SETTING=VALUE, given several times: each value is a row of the table, such as "
        "--vary sampling=md,uniform --vary timing=fedfix:0.5. Of several settings, every combination.",
        show_default="only algorithms differ",
    ),
    baseline: str | None = typer.Option(
        None, help="The row that others are tested against.", show_default="the first"
    ),
    metric: str | None = typer.Option(
        None, help="The metric that decides.", show_default="test accuracy, or RMSE"
    ),
    out: Path | None = typer.Option(
        None,
        help="Folder for one run folder per algorithm and seed, and the report.",
        show_default="runs/comparison, or with the next free number",
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace runs that are already in the folder."),
    quiet: bool = typer.Option(False, "--quiet", help="No progress bar."),
    json: bool = typer.Option(False, "--json", help="Print the table as JSON."),
) -> None:
    """Train several algorithms on the same clients and say which is better, with intervals and paired tests.

    With local among them, also how many clients do worse than they would alone. An option for one of them has
    its name in front: --set ditto.lam=1 --set fedem.learning_rate=0.3. With groups of clients, also what the
    worst of them gets and how far they are apart.

    Example: unalike compare --algorithms fedavg,fedem,local --seeds 3 --data digits --partition dirichlet:0.3
    --clients 50

    Rules under attack: unalike compare --algorithms fedavg --behaviour sign-flip --dishonest 0.2
    --vary aggregator=weighted-sum --vary aggregator=median --vary aggregator=trimmed-mean:0.2
    """
    names = named(algorithms)
    from ...experiments.build import check, make_federation
    from ...experiments.compare import (
        SHARED,
        check_metric,
        check_options,
        check_variants,
        compare_experiments,
        variant,
    )
    from ...experiments.variations import vary as vary_settings

    variants = vary_settings({name: variant(experiment, name) for name in names}, vary, fixed=SHARED)
    check_options(experiment, names)
    if baseline is not None and baseline not in variants:
        raise unknown("baseline", baseline, variants)
    for chosen in variants.values():
        check(chosen)
    out = out or free_folder("comparison")
    federation = make_federation(experiment)
    say_data(experiment, federation, quiet or json)
    decisive = check_metric(metric, experiment, federation)
    check_variants(variants, federation, range(experiment.seed, experiment.seed + seeds), out, overwrite)
    with LiveRounds(quiet or json) as progress:
        progress.expect(len(variants) * seeds)
        trials = compare_experiments(
            variants,
            range(experiment.seed, experiment.seed + seeds),
            out=out,
            overwrite=overwrite,
            observer=progress,
            announce=progress.rename,
        )
    conclude(trials, trials.answer(decisive, baseline), out, experiment, federation.description, json)


def named(algorithms: str) -> list[str]:
    """The algorithms in a list of words."""
    names = list(dict.fromkeys(name.strip() for name in algorithms.split(",") if name.strip()))
    if not names:
        raise ConfigError("name at least one algorithm, such as --algorithms fedavg,fedprox.")
    for name in names:
        check_name("algorithms", name)
    return names


def show_comparison(answer: Comparison) -> None:
    """The table of a comparison, and what stands behind its numbers."""
    seeds = answer.rows[0]["seeds"]
    title = f"{answer.metric.replace('_', ' ')} over {seeds} seed{'' if seeds == 1 else 's'}"
    show_rows(answer.readable(), title, spare=SPARE, more="the report has them")
    if seeds > 1:
        console.print(interval_words(seeds), style="dim", highlight=False)


def interval_words(seeds: int) -> str:
    """What the numbers after ± are."""
    return f"±: 95 % t intervals over {seeds} seeds; p (t): paired t test over the same seeds."


def conclude(
    trials: Trials, answer: Comparison, out: Path, experiment: Experiment, source: str, json: bool
) -> None:
    """Write the report and print the table."""
    from ...report import report_comparison

    worse = trials.worse_than_alone()
    report = report_comparison(
        out / "report.html",
        answer,
        trials.curves,
        experiment.model_dump(),
        worse,
        source,
        trials.who_pays(answer.baseline),
    )
    if json:
        found = {"metric": answer.metric, "baseline": answer.baseline, "best": answer.best}
        print_json({**found, "rows": answer.table(), "report": str(report)})
        return
    show_comparison(answer)
    console.print(
        f"Open [bold]{escape(str(report))}[/bold] in a browser for curves and clients.", soft_wrap=True
    )
