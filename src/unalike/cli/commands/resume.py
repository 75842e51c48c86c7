"""`unalike resume`: resume an interrupted run."""

from __future__ import annotations

from pathlib import Path

import typer

from ...core.run_files import UNLEARNING, check_run
from ...errors import RunError
from ...experiments.config import make_experiment
from ..interrupted import can_go_on
from ..screen import LiveRounds
from .run import conclude


def resume(
    folder: Path = typer.Argument(..., help="The run folder."),
    rounds: int | None = typer.Option(
        None, min=0, help="Train up to this many rounds instead.", show_default="as configured"
    ),
    quiet: bool = typer.Option(False, "--quiet", help="No progress bar."),
    json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
) -> None:
    """Resume an interrupted run; the result is the same as if it had never stopped."""
    check_run(folder)
    from ...runs import RunFolder

    opened = RunFolder.open(folder)
    if opened.config.get("made_by"):
        raise RunError(
            f"{folder} was made in Python; there, go on with unalike.train(..., out=folder, resume=True)."
        )
    if (folder / UNLEARNING / "requests.json").exists():
        raise RunError(
            f"clients of {folder} were forgotten; training on would bring them back. A request that was "
            f"interrupted goes on with `unalike forget {folder} --resume`."
        )
    if opened.finished and not opened.checkpoints.rounds():
        raise RunError(f"{folder} is finished, and its checkpoints were deleted: nothing can go on from it.")
    experiment = make_experiment(opened.config)
    if experiment.engine == "flower":
        raise RunError(
            f"{folder} was trained with real clients; go on with `unalike serve --resume {folder}`."
        )
    if rounds is not None:
        experiment = make_experiment({**experiment.model_dump(), "rounds": rounds})
    from ...experiments.run import run_experiment

    can_go_on("unalike resume", folder)
    with LiveRounds(quiet or json) as progress:
        finished = run_experiment(experiment, opened, resume=True, observer=progress)
    conclude(finished, json)
