"""`unalike list`: what can be named?"""

from __future__ import annotations

from collections.abc import Mapping

import typer

from ...core.catalog import KINDS, explain
from ...core.method_options import method_options, option_words
from ...core.studies import check_studies
from ...errors import unknown
from ..screen import console, print_json, show_rows

OPTIMIZERS, ALGORITHMS, STUDIES = "optimizers", "algorithms", "studies"


def list_names(
    kind: str | None = typer.Argument(
        None, help=f"One of {', '.join(KINDS)}, {OPTIMIZERS}.", show_default="all"
    ),
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """List data sets, partitions, models, algorithms and all other names, each with one line."""
    if kind not in (None, OPTIMIZERS, *KINDS):
        raise unknown("list", str(kind), (*KINDS, OPTIMIZERS))
    if kind == STUDIES:
        check_studies()
    chosen = {name: explain(name) for name in KINDS if kind in (None, name)} or {OPTIMIZERS: _optimizers()}
    if json:
        print_json(chosen)
        return
    for title, names in chosen.items():
        if not names:  # studies that are not installed
            continue
        if title == OPTIMIZERS:
            console.print(f"[italic]optimizers[/italic] (Optax): {', '.join(names)}")
            continue
        show_rows([{"name": name, **about} for name, about in describe_names(title, names).items()], title)
    if kind is None:
        console.print("Optimizers are those of Optax: `unalike list optimizers`.", highlight=False)


def describe_names(kind: str, names: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """What is said of each name; of methods also what `--set` takes."""
    if kind != ALGORITHMS:
        return {name: {"what it is": words} for name, words in names.items()}
    options = method_options()
    return {
        name: {"what it is": words, "--set": option_words(options[name])} for name, words in names.items()
    }


def _optimizers() -> dict[str, str]:
    from ...algorithms import optimizer_names

    return dict.fromkeys(optimizer_names(), "Optax's optimizer of that name.")
