"""The command `unalike reproduce`, once its options are read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer
from rich.markup import escape

from unalike.cli.interrupted import SAME, can_go_on
from unalike.cli.screen import console, print_json, show_rows, stderr

from . import Claim, Effort, run_published, run_study
from .campaign import Finished, run_all, total
from .campaign_files import as_rows, write_files
from .study import document_of, still_scaled_down
from .trainings import Trainings

FullEffort = tuple[str | None, int | None, float, Path]
"""The claims of one id, fewer runs, a share of the length, and the folder of finished trainings."""


def reproduce_study(name: str, quick: bool, effort: FullEffort | None, json: bool) -> None:
    """Print the claims of one study; the exit code is 1 if a hard claim does not hold."""
    claims = run_scaled_down(name, quick) if effort is None else published_claims(name, *effort)
    document, less = document_of(name), still_scaled_down(name)
    if json:
        print_json([claim.as_dict() | {"document": document if claim.place else ""} for claim in claims])
    else:
        show_rows([claim.readable() for claim in claims], name)
        failed = sum(claim.hard and not claim.holds for claim in claims)
        console.print(f"{len(claims)} claims, {failed} hard ones do not hold.")
        if document:
            console.print(escape(f"Published values stand in {document}."), soft_wrap=True, highlight=False)
    if effort is not None and less:
        line = f"Scaled down in {name}, also with --full: {less}."
        stderr.print(escape(line), soft_wrap=True, highlight=False)
    _end(claims)


def reproduce_all(quick: bool, folder: Path, json: bool) -> None:
    """Run every study that is not finished in a folder, and write what all came to."""
    folder.mkdir(parents=True, exist_ok=True)
    can_go_on(SAME, folder)
    finished: list[Finished] = []
    with stderr.status("studying") as status:
        for one in run_all(folder, quick, lambda name: status.update(f"studying {name}")):
            finished.append(one)
            stderr.print(escape(one.sentence()), soft_wrap=True, highlight=False)
    written = write_files(folder, finished, quick)
    claims = [claim for one in finished for claim in one.claims]
    if json:
        print_json(as_rows(finished))
    else:
        console.print(total(finished), soft_wrap=True, highlight=False)
        console.print(escape(f"Written to {written}, with a page for each study beside it."), soft_wrap=True)
    _end(claims)


def run_scaled_down(name: str, quick: bool) -> list[Claim]:
    """The claims of a study that ends today."""
    with stderr.status(f"studying {name}"):
        return run_study(name, quick)


def published_claims(name: str, only: str | None, runs: int | None, share: float, out: Path) -> list[Claim]:
    """The claims at the published effort; trainings that are finished are in a folder."""
    with stderr.status(f"studying {name}") as status:
        trainings = Trainings(
            out / f"{name}.jsonl",
            lambda done, planned: status.update(f"studying {name}: {done} of {planned} trainings"),
        )
        claims = run_published(name, only, Effort(trainings, runs, share))
        can_go_on(SAME, out)
        return report_claims(claims, trainings)


def report_claims(claims: Iterator[Claim], trainings: Trainings) -> list[Claim]:
    """All claims, each printed as soon as it is settled: the next may take hours."""
    settled = []
    for claim in claims:
        settled.append(claim)
        readable = claim.readable()
        done = f"{trainings.finished} of {trainings.expected} trainings: " if trainings.expected else ""
        line = f"{done}{claim.id} {readable['claim']}: {readable['measured']} ({readable['verdict']})"
        stderr.print(escape(line), soft_wrap=True, highlight=False)
    return settled


def _end(claims: list[Claim]) -> None:
    if any(claim.hard and not claim.holds for claim in claims):
        raise typer.Exit(1)
