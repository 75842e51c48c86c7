"""`unalike reproduce`: published claims, checked on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import typer

from ...core.catalog import check_name, explain
from ...core.studies import check_studies, import_studies
from ...errors import ConfigError
from ..screen import print_json, show_rows

KEPT = Path("runs") / "reproduced"


def reproduce(
    name: str | None = typer.Argument(
        None, help="The study; all are listed when not given.", show_default=False
    ),
    every: bool = typer.Option(
        False, "--all", help="All studies, one after the other; finished ones are not repeated."
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
        help="With --all: folder for finished studies and their pages; with --full: for finished trainings. "
        "What is there is not repeated.",
        show_default=str(KEPT),
    ),
    json: bool = typer.Option(False, "--json", help="Print the claims as JSON."),
) -> None:
    """Reproduce published claims: for each, the published, expected and measured value, and whether it holds.

    What would take too long is scaled down, and says so; --full runs it as it was published. --all runs
    every study and writes claims.json, claims.md and a page for each. Both resume after Ctrl-C with the same
    command. The exit code is 1 if a hard claim does not hold. Studies are a package of their own: pip install
    unalike-studies. Examples: unalike reproduce foundation --quick; unalike reproduce --all --quick --out
    claims; unalike reproduce availability --full --only A15 --runs 3
    """
    check_studies()
    at_full_effort = {"only": only, "runs": runs, "share": share if share != 1 else None}
    check_options(name, every, quick, full, at_full_effort, out)
    if every:
        import_studies("command").reproduce_all(quick, out or KEPT, json)
    elif name is None:
        listed = [{"study": study, "what it checks": words} for study, words in explain("studies").items()]
        print_json(listed) if json else show_rows(listed, "studies")
    else:
        check_name("studies", name)
        effort = (only, runs, share, out or KEPT) if full else None
        import_studies("command").reproduce_study(name, quick, effort, json)


def check_options(
    name: str | None,
    every: bool,
    quick: bool,
    full: bool,
    at_full_effort: Mapping[str, object],
    out: Path | None,
) -> None:
    """Raise where options contradict each other; `at_full_effort` are those that need --full."""
    if every and name is not None:
        raise ConfigError(f"--all runs every study; leave out {name!r}, or leave out --all.")
    if every and full:
        raise ConfigError("--all goes without --full, which takes days for a single study.")
    if quick and full:
        raise ConfigError("a study is --quick or --full, not both.")
    alone = [f"--{option}" for option, value in at_full_effort.items() if value is not None]
    if alone and not full:
        raise ConfigError(f"{alone[0]} goes with --full.")
    if out is not None and not (full or every):
        raise ConfigError("--out goes with --full or with --all.")
