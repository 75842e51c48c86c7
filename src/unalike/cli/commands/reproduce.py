"""`unalike reproduce`: published claims, checked on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from ...core.catalogue import check_name, explain
from ...errors import ConfigError
from ..interrupted import SAME, can_go_on
from ..screen import console, print_json, show_rows, stderr

if TYPE_CHECKING:
    from ...reproduce import Claim
    from ...reproduce.trainings import Trainings

KEPT = Path("runs") / "reproduced"


def reproduce(
    name: str | None = typer.Argument(
        None, help="The study; all are listed when not given.", show_default=False
    ),
    quick: bool = typer.Option(False, "--quick", help="Fewer seeds and smaller problems."),
    full: bool = typer.Option(
        False,
        "--full",
        help="Only the claims that are scaled down otherwise, at the published effort: hours, or days.",
    ),
    only: str | None = typer.Option(None, help="With --full: the claims of one id, such as A15."),
    runs: int | None = typer.Option(None, min=1, help="With --full: fewer runs than were published."),
    share: float = typer.Option(
        1.0, help="With --full: this share of the published rounds or time, such as 0.1."
    ),
    out: Path | None = typer.Option(
        None,
        help="With --full: folder for finished trainings, which are not repeated.",
        show_default=str(KEPT),
    ),
    json: bool = typer.Option(False, "--json", help="Print the claims as JSON."),
) -> None:
    """Check published claims: for each, the published, the expected and the measured value, and whether it
    holds.

    What would take too long is scaled down, and says so; --full runs it as it was published, and goes on
    after Ctrl-C with the same command. The exit code is 1 if a hard claim does not hold. Examples: unalike
    reproduce foundation --quick; unalike reproduce availability --full --only A15 --runs 3
    """
    if name is None:
        listed = [{"study": study, "what it checks": words} for study, words in explain("studies").items()]
        print_json(listed) if json else show_rows(listed, "studies")
        return
    check_name("studies", name)
    check_options(
        quick, full, {"only": only, "runs": runs, "share": share if share != 1 else None, "out": out}
    )
    claims = published(name, only, runs, share, out or KEPT) if full else scaled_down(name, quick)
    document, less = about(name)
    if json:
        print_json([claim.as_dict() | {"document": document if claim.place else ""} for claim in claims])
    else:
        show_rows([claim.readable() for claim in claims], name)
        failed = sum(claim.hard and not claim.holds for claim in claims)
        console.print(f"{len(claims)} claims, {failed} hard ones do not hold.")
        if document:
            console.print(escape(f"Published values stand in {document}."), soft_wrap=True, highlight=False)
    if full and less:
        line = f"Scaled down in {name}, also with --full: {less}."
        stderr.print(escape(line), soft_wrap=True, highlight=False)
    if any(claim.hard and not claim.holds for claim in claims):
        raise typer.Exit(1)


def about(name: str) -> tuple[str, str]:
    """The document of a study, and which claims are scaled down at any effort."""
    from ...reproduce.study import document_of, still_scaled_down

    return document_of(name), still_scaled_down(name)


def check_options(quick: bool, full: bool, given: Mapping[str, object]) -> None:
    """Raise where options contradict each other; `given` are those of a full study."""
    if quick and full:
        raise ConfigError("a study is --quick or --full, not both.")
    alone = [f"--{name}" for name, value in given.items() if value is not None]
    if alone and not full:
        raise ConfigError(f"{alone[0]} goes with --full.")


def scaled_down(name: str, quick: bool) -> list[Claim]:
    """The claims of a study that ends today."""
    from ...reproduce import run_study

    with stderr.status(f"studying {name}"):
        return run_study(name, quick)


def published(name: str, only: str | None, runs: int | None, share: float, out: Path) -> list[Claim]:
    """The claims at the published effort; trainings that are finished are in a folder."""
    from ...reproduce import Effort, run_published
    from ...reproduce.trainings import Trainings

    with stderr.status(f"studying {name}") as status:
        trainings = Trainings(
            out / f"{name}.jsonl",
            lambda done, planned: status.update(f"studying {name}: {done} of {planned} trainings"),
        )
        claims = run_published(name, only, Effort(trainings, runs, share))
        can_go_on(SAME, out)
        return told(claims, trainings)


def told(claims: Iterator[Claim], trainings: Trainings) -> list[Claim]:
    """All claims, each said as soon as it is settled: the next may take hours."""
    found = []
    for claim in claims:
        found.append(claim)
        words = claim.readable()
        done = f"{trainings.finished} of {trainings.expected} trainings: " if trainings.expected else ""
        line = f"{done}{claim.id} {words['claim']}: {words['measured']} ({words['verdict']})"
        stderr.print(escape(line), soft_wrap=True, highlight=False)
    return found
