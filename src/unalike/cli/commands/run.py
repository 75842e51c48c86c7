"""`unalike run`: train a federation, and write a run folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer
from rich.markup import escape

from ...core.catalog import SQL
from ...core.run_files import check_free
from ...experiments.config import Experiment, make_experiment
from ..interrupted import can_go_on
from ..messages import say_data
from ..screen import LiveRounds, console, print_json, show_summary, stderr, summary

if TYPE_CHECKING:
    from ...data import Federation
    from ...training.run import Run


def run(
    experiment: Experiment,
    out: Path | None = typer.Option(
        None, help="Run folder to make.", show_default="runs/DATA-ALGORITHM-SEED"
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace a run that is already in the folder."),
    target: str | None = typer.Option(
        None, help="Stop as soon as this is reached, such as accuracy=0.93: a short --stop-at."
    ),
    quiet: bool = typer.Option(False, "--quiet", help="No progress bar."),
    json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
) -> None:
    """Train a federated model and write a run folder with metrics, model and report.

    Example: unalike run --data digits --partition dirichlet:0.3 --clients 50 --algorithm fedavg --per-round
    10 --rounds 50
    """
    if out is not None:
        check_free(out, overwrite)
    if target is not None:
        experiment = make_experiment({**experiment.model_dump(), "stop_at": target})
    from ...experiments.build import make_federation
    from ...experiments.run import run_experiment

    folder = out or run_folder(experiment)
    federation = make_federation(experiment)
    say_data(experiment, federation, quiet or json)
    can_go_on("unalike resume", folder)
    with LiveRounds(quiet or json) as progress:
        finished = run_experiment(
            experiment, folder, federation=federation, overwrite=overwrite, observer=progress
        )
    conclude(finished, json)


def conclude(run: Run, json: bool, federation: Federation | None = None) -> None:
    """Write the report, on what may be shown of the federation, and print the table."""
    from ...report import report_run
    from ...report.metric_report import metric_figures
    from ...report.personal_report import personal_figures

    assert run.folder is not None
    more = personal_figures(run) | metric_figures(run)
    report = report_run(run.folder, federation or run.setting.federation, more)
    numbers = {**summary(run), "report": str(report)}
    sentences = list(warnings(run, real=federation is not None))
    if json:
        print_json({**numbers, "warnings": sentences} if sentences else numbers)
    else:
        for sentence in sentences:
            stderr.print(sentence, soft_wrap=True)
        show_summary(numbers, f"{numbers['algorithm']} after {numbers['rounds']} rounds")
        console.print(
            f"Open [bold]{escape(str(report))}[/bold] in a browser for curves, clients and configuration.",
            soft_wrap=True,
        )
    run.folder.close()


def warnings(run: Run, real: bool) -> Iterator[str]:
    """What a person should know of a run beside its numbers; `real` clients' uploads fail in many ways."""
    from ...runs.selection import ENDED_BY_TEST_ROWS, TEST_ROWS
    from ...training.divergence import advice, find_kept_round
    from ...training.final_numbers import final_sentences

    rejected = int(np.nansum(run.metrics().get("rejected", 0)))
    if rejected and real:
        yield f"{rejected} uploads were left out; the events in the report say why."
    elif rejected:
        yield f"{rejected} uploads were not finite and left out; a smaller learning rate may help."
    events = run.events()
    yield from final_sentences(events)
    for event in events:
        if event["kind"] == "diverged":
            yield advice(event, find_kept_round(events))
        if event["kind"] == TEST_ROWS:
            yield ENDED_BY_TEST_ROWS
        if event["kind"] == "dead component":
            yield (
                f"component {event['component']} has died (nobody's data are of its kind); try fewer "
                "components, or another start with --restarts 3."
            )


def run_folder(experiment: Experiment) -> Path:
    """A folder below runs/ for this experiment."""
    given = "query" if experiment.data.startswith(SQL) else experiment.data
    data = given.replace(":", "-").replace("/", "-").strip("-.")
    return free_folder(f"{data}-{experiment.algorithm}-seed{experiment.seed}")


def free_folder(base: str) -> Path:
    """A folder below runs/ that does not exist yet."""
    return next(folder for folder in folders_called(base) if not folder.exists())


def folders_called(base: str) -> Iterator[Path]:
    """Folders below runs/ with this name and, from the second on, a number."""
    return (Path("runs") / (base if number == 1 else f"{base}-{number}") for number in range(1, 10**6))
