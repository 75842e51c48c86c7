"""`unalike runs`: list past runs, compare their settings, and delete runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ...core.run_files import check_run
from ...errors import ConfigError
from ...typing import Row
from ..help import ListingGroup, Program
from ..screen import console, print_json, show_rows

if TYPE_CHECKING:
    from ...runs.overview import DisposableFiles, RunFacts

runs = Program(cls=ListingGroup)
FOLDER = typer.Argument(Path("runs"), help="A folder with runs, or a run.")
JSON = typer.Option(False, "--json", help="Print as JSON.")
MOST_METRICS = 12


@runs.callback()
def start() -> None:
    """What was trained, what came of it, and what can go."""


@runs.command("list")
def list_runs(folder: Path = FOLDER, json: bool = JSON) -> None:
    """List the runs in a folder with what came of them.

    Example: unalike runs, or unalike runs somewhere/else
    """
    from ...runs.overview import find_runs, look_at

    found = [look_at(path) for path in find_runs(folder)]
    if json:
        print_json([run.as_dict() for run in found])
    elif found:
        show_rows([_row(run, folder) for run in found], f"runs in {folder}", ("data", "changed"), "--json")
    else:
        console.print(f"There are no runs in {folder}.", highlight=False)


@runs.command("compare")
def compare_runs(
    folders: list[Path] = typer.Argument(..., help="Two runs, or more."), json: bool = JSON
) -> None:
    """Show in which settings runs differ, and what each ended with.

    Example: unalike runs compare runs/digits-fedavg-seed0 runs/digits-fedavg-seed0-2
    """
    from ...runs.overview import differing_settings, look_at

    if len(folders) < 2:
        raise ConfigError("name at least two runs, such as unalike runs compare runs/a runs/b.")
    for folder in folders:
        check_run(folder)
    found = [look_at(folder) for folder in folders]
    settings, results = differing_settings(found), _results(found)
    if json:
        print_json({"runs": [str(f) for f in folders], "settings": settings, "results": results})
        return
    names = [str(folder) for folder in folders]
    if settings:
        show_rows(_table("setting", settings, names), "settings that differ")
    else:
        console.print("All settings are the same.")
    show_rows(_table("result", results, names), "what they ended with")


@runs.command("clean")
def clean_runs(
    folder: Path = FOLDER,
    yes: bool = typer.Option(False, "--yes", help="Delete without asking."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only show what would be deleted."),
    json: bool = typer.Option(False, "--json", help="Print as JSON; deletes only with --yes."),
) -> None:
    """Delete checkpoints of finished runs, and runs that were interrupted, after asking.

    Without checkpoints a finished run keeps its record, model and report, but cannot be audited, forgotten
    from or trained on.

    Example: unalike runs clean --dry-run
    """
    from ...report.text_format import bytes_text
    from ...runs.overview import find_runs, find_waste, look_at

    waste = [one for path in find_runs(folder) if (one := find_waste(look_at(path))) is not None]
    if json:
        print_json({"deleted": yes and not dry_run, "waste": [_run_row(one) for one in waste]})
    elif not waste:
        console.print(f"There is nothing to clean in {folder}.", highlight=False)
    else:
        show_rows(
            [
                {
                    "run": str(one.run.folder.relative_to(folder)),
                    "what": one.why,
                    "size": bytes_text(one.size),
                }
                for one in waste
            ],
            f"{bytes_text(sum(one.size for one in waste))} can go from {folder}",
        )
    if dry_run or not waste or (json and not yes):
        return
    if yes or typer.confirm("Delete these?"):
        for one in waste:
            one.remove()


@runs.command("seal")
def seal_run(
    folder: Path = typer.Argument(..., help="A run folder, or the folder of a comparison."),
    yes: bool = typer.Option(False, "--yes", help="Seal without asking."),
    json: bool = typer.Option(False, "--json", help="Print as JSON; seals only with --yes."),
) -> None:
    """Seal a folder as it is, after showing what changed: for intended edits, and folders that you received.

    From then on the folder counts as your own: what it names may be read, and trackers may write where it
    says. So read config.toml first if the folder comes from somebody else.

    Example: unalike runs seal runs/digits-fedavg-seed0
    """
    from ...runs.lock import lock_folder
    from ...runs.sealed_files import seal_again
    from ..sealing import describe_folder

    facts = describe_folder(folder)
    if json:
        print_json({"folder": str(folder), "sealed": yes, **facts.as_dict()})
    else:
        for sentence in facts.sentences():
            console.print(sentence, soft_wrap=True, highlight=False, markup=False)
    if yes or (not json and typer.confirm("Seal the folder as it is?")):
        with lock_folder(folder):
            seal_again(folder)
        if not json:
            console.print(f"{folder} is sealed.", soft_wrap=True, highlight=False, markup=False)


def _row(run: RunFacts, folder: Path) -> dict[str, str]:
    from ...models.metrics import label_of
    from ...report.text_format import bytes_text, value

    judged, last = run.judged, run.metrics or {}
    return {
        "run": str(run.folder.relative_to(folder)),
        "method": run.method,
        "data": str(run.config.get("data", "")),
        "rounds": f"{run.rounds}" if run.asked in (None, run.rounds) else f"{run.rounds} of {run.asked}",
        "result": f"{label_of(judged).removeprefix('test ')} {value(judged, last[judged])}" if judged else "",
        "changed": run.changed.strftime("%Y-%m-%d %H:%M"),
        "size": bytes_text(run.size),
        "state": run.state + (f", {run.forgotten} forgotten" if run.forgotten else ""),
    }


def _results(found: list[RunFacts]) -> dict[str, list[Any]]:
    """What the runs ended with: rounds, and metrics of all rows, the first of which judges."""
    named = dict.fromkeys(name for run in found for name in run.metrics or {})
    names = [name for name in named if name.startswith(("train_", "test_", "unseen_"))][:MOST_METRICS]
    measured = {name: [(run.metrics or {}).get(name) for run in found] for name in names}
    return {"state": [run.state for run in found], "rounds": [run.rounds for run in found], **measured}


def _table(head: str, rows: dict[str, list[Any]], names: list[str]) -> list[Row]:
    shown = {
        key: ["–" if v is None else v if isinstance(v, float) else str(v) for v in vs]
        for key, vs in rows.items()
    }
    return [{head: key, **dict(zip(names, values, strict=True))} for key, values in shown.items()]


def _run_row(one: DisposableFiles) -> Row:
    return {"run": str(one.run.folder), "why": one.why, "bytes": one.size, "files": len(one.files)}
