"""`unalike report`: write the HTML report of a run or a comparison again."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from ...core.run_files import CONFIG, check_run
from ...errors import RunError, UnalikeError
from ..screen import console, print_json, stderr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...data import Federation
    from ...runs import RunFolder


def report(
    folder: Path = typer.Argument(..., help="The folder of a run or of a comparison."),
    json: bool = typer.Option(False, "--json", help="Print where the report is as JSON."),
) -> None:
    """Regenerate report.html with its figures, and for a comparison its tables; nothing is trained.

    Example: unalike report runs/comparison
    """
    if folder.is_dir() and not (folder / CONFIG).exists():
        report_again(folder, json)
        return
    check_run(folder)
    from ...report import report_run
    from ...runs import RunFolder

    with RunFolder.open(folder, read_only=True) as opened:
        federation, more, missing = _reopen_for_figures(opened)
        page = report_run(opened, federation, more, missing)
    if json:
        print_json({"report": str(page), "without": missing or None})
        return
    if missing:
        stderr.print(f"without some figures: {missing}", soft_wrap=True, highlight=False)
    console.print(f"Open [bold]{escape(str(page))}[/bold] in a browser.", soft_wrap=True)


def report_again(folder: Path, json: bool) -> None:
    """The tables and the page of a comparison, from runs that are finished."""
    from ...experiments.compare import compare_experiments
    from ...experiments.comparison_file import read_asked
    from ...experiments.planned_runs import is_finished, plan_runs
    from .compare import check_comparison, conclude

    asked = read_asked(folder)
    for planned in plan_runs(asked.variants(), asked.all_seeds, folder):
        if not is_finished(planned):
            raise RunError(
                f"{planned.title} of {folder} is not finished; finish it first with the same "
                f"`unalike compare` and --out {folder}."
            )
    metric, source = check_comparison(asked, folder)
    conclude(
        compare_experiments(asked.variants(), asked.all_seeds, out=folder),
        asked,
        metric,
        folder,
        source,
        json,
    )


def _reopen_for_figures(opened: RunFolder) -> tuple[Federation | None, dict[str, Figure], str]:
    """The clients of a run, figures that its record alone does not give, and why something is missing."""
    from ...experiments.reopen import reopen
    from ...report.metric_report import metric_figures
    from ...report.personal_report import personal_figures

    if _has_forgotten(opened):
        why = "clients were forgotten, whose rows are not read again"
        return _clients_without_rows(opened), {}, why
    try:
        with reopen(opened.path) as (_, run):
            return run.setting.federation, personal_figures(run) | metric_figures(run), ""
    except UnalikeError as error:
        return _clients(opened), {}, str(error)


def _has_forgotten(opened: RunFolder) -> bool:
    return opened.record.meta().get("forgotten", "0") != "0"


def _clients(opened: RunFolder) -> Federation | None:
    """The clients of a run that cannot be opened again: with rows if they can be had, or else as the folder
    knows them, by their names and sizes."""
    from ...experiments.build import make_federation
    from ...experiments.config import make_experiment
    from ...experiments.outside_paths import check_received
    from ...training.newcomers import set_apart

    if opened.config.get("made_by") or opened.config.get("engine") == "flower":
        return _clients_without_rows(opened)
    try:
        check_received(opened)
        experiment = make_experiment(opened.config)
        federation = make_federation(experiment)
    except UnalikeError:
        return _clients_without_rows(opened)
    return set_apart(federation, experiment.unseen, experiment.seed)[0] if experiment.unseen else federation


def _clients_without_rows(opened: RunFolder) -> Federation | None:
    """The clients without their rows, as the run folder describes them."""
    from ...core.run_files import FACTS
    from ...data.facts import read_facts

    try:
        # Labels are not known here, so that the report must not count them.
        return dataclasses.replace(read_facts(opened.path / FACTS), classes=None)
    except UnalikeError:
        return None
