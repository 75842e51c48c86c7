"""`unalike reproduce`: published claims, checked on this machine."""

from __future__ import annotations

import typer

from ...core.catalogue import check_name, explain
from ..screen import console, print_json, show_rows, stderr


def reproduce(
    name: str | None = typer.Argument(
        None, help="The study; all are listed when not given.", show_default=False
    ),
    quick: bool = typer.Option(False, "--quick", help="Fewer seeds and smaller problems."),
    json: bool = typer.Option(False, "--json", help="Print the claims as JSON."),
) -> None:
    """Check published claims: for each, the published, the expected and the measured value, and whether it
    holds.

    The exit code is 1 if a hard claim does not hold. Example: unalike reproduce foundation --quick
    """
    if name is None:
        listed = [{"study": study, "what it checks": words} for study, words in explain("studies").items()]
        print_json(listed) if json else show_rows(listed, "studies")
        return
    check_name("studies", name)
    from ...reproduce import run_study

    with stderr.status(f"studying {name}"):
        claims = run_study(name, quick)
    if json:
        print_json([claim.as_dict() for claim in claims])
    else:
        show_rows([claim.readable() for claim in claims], name)
        failed = sum(claim.hard and not claim.holds for claim in claims)
        console.print(f"{len(claims)} claims, {failed} hard ones do not hold.")
    if any(claim.hard and not claim.holds for claim in claims):
        raise typer.Exit(1)
