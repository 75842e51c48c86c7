"""`unalike compare`: the same experiment with several algorithms over several seeds, in one table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from ...core.catalog import check_name
from ...errors import ConfigError, unknown
from ...experiments.config import Experiment
from ..interrupted import SAME, can_go_on
from ..messages import say_data
from ..screen import LiveRounds, console, print_json, show_rows, stderr
from .run import folders_called

if TYPE_CHECKING:
    from ...experiments.compare import Trials
    from ...experiments.comparison_file import ComparisonFile
    from ...runs import Comparison


SPARE = (
    *("loss spread", "clients' mean", "unseen", "bottom decile", "spread", "worst group", "discrepancy"),
    *("MB to target", "worse than alone", "rounds to target"),
)
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
        help="SETTING=VALUE,VALUE, given several times: each value is a row of the table, such as "
        "--vary sampling=md,uniform --vary timing=sync,fedfix:0.5 or --vary mu=0.1,1. Of several settings, "
        "every combination.",
        show_default="only algorithms differ",
    ),
    baseline: str | None = typer.Option(
        None, help="The row that others are tested against.", show_default="the first"
    ),
    metric: str | None = typer.Option(
        None, help="The metric that decides.", show_default="test accuracy, or RMSE"
    ),
    target: str | None = typer.Option(
        None,
        help="METRIC=VALUE, such as accuracy=0.9: also the rounds, bytes and simulated time that it takes.",
        show_default="none",
    ),
    jobs: int = typer.Option(1, min=1, help="Runs to train at a time, each in a process with one core."),
    out: Path | None = typer.Option(
        None,
        help="Folder for one run folder per algorithm and seed, tables, figures and the report; runs that "
        "are there already are read, or go on.",
        show_default="runs/comparison, or with the next free number",
    ),
    overwrite: bool = typer.Option(
        False, "--overwrite", help="Train runs again that are already in the folder."
    ),
    retrain: bool = typer.Option(
        False, "--retrain", help="Train runs again whose rows, plugin or version of Unalike have changed."
    ),
    quiet: bool = typer.Option(False, "--quiet", help="No progress bar."),
    json: bool = typer.Option(False, "--json", help="Print the table as JSON."),
) -> None:
    """Compare algorithms on the same clients, with confidence intervals and paired tests.

    With local among them, also how many clients do worse than they would alone. An option for one of them has
    its name in front: --set ditto.lam=1 --set fedem.learning_rate=0.3. With groups of clients, also what the
    worst of them gets and how far they are apart.

    Example: unalike compare --algorithms fedavg,fedem,local --seeds 3 --data digits --partition dirichlet:0.3
    --clients 50

    Rules under attack: unalike compare --algorithms fedavg --behavior sign-flip --dishonest 0.2
    --vary aggregator=weighted-sum --vary aggregator=median --vary aggregator=trimmed-mean:0.2

    After Ctrl-C, the same command goes on; with --out and more methods, values or seeds, only those are
    trained.
    """
    names = split_names(algorithms)
    from ...experiments.compare import compare_experiments
    from ...experiments.comparison_file import ComparisonFile, begun, write_asked

    asked = ComparisonFile(
        algorithms=tuple(names),
        vary=tuple(vary),
        seeds=seeds,
        metric=metric,
        baseline=baseline,
        target=target,
        experiment=experiment,
    )
    variants = validate_variants(asked)
    out = out or begun(folders_called("comparison"), asked)
    decisive, source = check_comparison(asked, out, overwrite, quiet or json)
    write_asked(out, asked)
    can_go_on(SAME, out)
    with LiveRounds(quiet or json) as progress:
        progress.expect(len(variants) * seeds)
        trials = compare_experiments(
            variants,
            asked.all_seeds,
            out=out,
            overwrite=overwrite,
            retrain=retrain,
            jobs=jobs,
            observer=progress,
            announce=progress.rename,
        )
    if trials.read and not (quiet or json):
        stderr.print(f"{trials.read} of {len(variants) * seeds} runs were there already.", highlight=False)
    conclude(trials, asked, decisive, out, source, json)


def validate_variants(asked: ComparisonFile) -> dict[str, Experiment]:
    """What is compared, if all of it can be made."""
    from ...experiments.build import check
    from ...experiments.targets import read_target

    if asked.target is not None:
        read_target(asked.target)
    variants = asked.variants()
    if asked.baseline is not None and asked.baseline not in variants:
        raise unknown("baseline", asked.baseline, variants)
    for chosen in variants.values():
        check(chosen)
    return variants


def check_comparison(
    asked: ComparisonFile, out: Path, overwrite: bool = False, silent: bool = True
) -> tuple[str, str]:
    """The metric that decides and where the data come from; raises what would be refused later."""
    from ...experiments.compare import Materials, check_metric, check_variants
    from ...experiments.targets import check_target

    variants, materials = asked.variants(), Materials()
    decisive = ""
    for number, chosen in enumerate(variants.values()):
        federation, task = materials.of(chosen)
        if not number:
            say_data(chosen, federation, silent)
            source = federation.description
        decisive = check_metric(asked.metric or decisive or None, chosen, federation)
        if asked.rule is not None:
            check_target(asked.rule, task)
    check_variants(variants, materials, asked.all_seeds, out, overwrite)
    return decisive, source


def split_names(algorithms: str) -> list[str]:
    """The algorithms in a list of words."""
    names = [name.strip() for name in algorithms.split(",") if name.strip()]
    if not names:
        raise ConfigError("name at least one algorithm, such as --algorithms fedavg,fedprox.")
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise ConfigError(f"{twice[0]} is named twice; name every algorithm once.")
    for name in names:
        check_name("algorithms", name)
    return names


def show_comparison(answer: Comparison, notes: Sequence[str] = ()) -> None:
    """The table of a comparison, and what stands behind its numbers."""
    seeds = answer.rows[0]["seeds"]
    title = f"{answer.metric.replace('_', ' ')} over {seeds} seed{'' if seeds == 1 else 's'}"
    show_rows(answer.readable(), title, spare=SPARE, more="the report has them")
    for note in notes:
        console.print(note, style="dim", highlight=False)


def conclude(trials: Trials, asked: ComparisonFile, metric: str, out: Path, source: str, json: bool) -> None:
    """Write tables and report, and print the table."""
    from ...report import report_comparison
    from ...runs.comparison_tables import as_dict, write_comparison

    answer = trials.answer(metric, asked.baseline, asked.rule)
    notes = [*trials.notes(asked.rule), *answer.untrained()]
    pays, worse = trials.who_pays(answer.baseline), trials.worse_than_alone()
    config = {**asked.experiment.model_dump(), **asked.model_dump(include={"vary", "seeds", "target"})}
    page = out / "report.html"
    report = report_comparison(page, answer, trials.curves, config, worse, source, pays, notes)
    files = write_comparison(out, answer, notes)
    if json:
        print_json({**as_dict(answer), "notes": notes, "report": str(report)})
        return
    show_comparison(answer, notes)
    console.print(
        f"Open [bold]{escape(str(report))}[/bold] in a browser for curves and clients; the table is in "
        f"{escape(', '.join(path.name for path in files))} beside it.",
        soft_wrap=True,
    )
