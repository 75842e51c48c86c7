"""`unalike advise`: what suits these clients, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from ...typing import Keywords
from ..help import Program
from ..options import experiment_of, name_of, with_data
from ..screen import console, print_json, show_rows
from .measured_constants import L2, MODEL, measure_constants, show_constants

if TYPE_CHECKING:
    from ...advice import Advice, SchemeReport
    from ...advice.sampling_bounds import SchemeBound

advise = Program()
_HEADS = {
    "total_variance": "Sigma",
    "gamma": "gamma",
    "variance_of_sum": "V(sum)",
    "largest_variance": "V(max)",
    "distinct_clients": "heard",
    "empty_rounds": "empty",
}
_LEGEND = (
    "Sigma: sum of the weights' variances; gamma: what differences between clients count; V(sum): variance "
    "of the weights' sum; the smaller these three, the better. V(max): largest variance of a weight; heard: "
    "distinct clients in a round; empty: probability of a round without any."
)


PARTITION = typer.Option(
    None, help="How rows are partitioned into clients.", show_default="the data's own, or iid"
)
SAMPLES = typer.Option(None, min=1, help="Use only that many rows.", show_default="all")


@advise.callback()
def start() -> None:
    """Advice for these clients, with its reasons."""


@advise.command("sampling")
@with_data
def sampling(
    rows: Keywords,
    per_round: int = typer.Option(10, min=1, help="Clients drawn each round."),
    importance: str = typer.Option(
        "data", help="How much clients count: data (their rows), equal, similarity, or a file of numbers."
    ),
    measure: bool = typer.Option(
        False, "--measure", help="Measure the losses' constants here, and bound training with each scheme."
    ),
    model: str | None = MODEL,
    l2: float = L2,
    local_steps: int = typer.Option(10, min=1, help="Local steps in a round, for the bounds."),
    rounds: int = typer.Option(100, min=1, help="Rounds, for the bounds."),
    seed: int = typer.Option(0, min=0, help="Same seed, same partition."),
    plot: Path | None = typer.Option(
        None, help="Where to draw every client's weight variance.", show_default="nowhere"
    ),
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Compare sampling schemes by their exact statistics, and recommend one.

    Example: unalike advise sampling --partition lognormal:1 --clients 50 --per-round 5
    """
    experiment = experiment_of(**rows, seed=seed, model=model, l2=l2)
    from ...advice import advise_sampling
    from ...advice.sampling_bounds import least_bounds
    from ...experiments.build import make_federation

    federation = make_federation(experiment).with_importance(importance)
    advice = advise_sampling(federation, per_round)
    found = measure_constants(experiment, federation) if measure else None
    bounds = [] if found is None else least_bounds(advice.statistics, found, local_steps, rounds)
    if plot is not None:
        from ...report import save
        from ...report.participation_plots import weight_variance

        save(weight_variance(advice.statistics), plot)
    if json:
        measured = {
            "measured": None if found is None else found.as_dict(),
            "bounds": [bound.as_dict() for bound in bounds],
        }
        print_json({**advice.as_dict(), **measured, "plot": None if plot is None else str(plot)})
        return
    _show(advice, name_of(rows))
    if found is not None:
        show_constants(found, name_of(rows))
        _show_bounds(bounds)
        # kappa^2 with b^2 = 1 is the largest spread of clients' gradients, m times B_MD.
        console.print(
            f"At the models tried md added up to {found.dissimilarity / per_round:.4g} (B_MD) to the squared "
            "gradient of a round; clustered sampling adds no more (B_Cl), and nothing where clients of a "
            "cluster have one gradient.",
            highlight=False,
        )


def _show(advice: Advice, data: str) -> None:
    rows = [_readable(scheme) for scheme in advice.schemes]
    show_rows(rows, f"{data}: {advice.per_round} of {advice.clients:,} clients each round")
    console.print(_LEGEND, style="dim", highlight=False)
    for scheme in advice.schemes:
        if scheme.note:
            console.print(f"[bold]{scheme.name}[/bold]: {escape(scheme.note)}", highlight=False)
    reasons = escape(" ".join((*advice.reasons, *advice.warnings)))
    console.print(f"\n[bold]Use {advice.recommended}[/bold]: {reasons}", highlight=False)


def _show_bounds(bounds: list[SchemeBound]) -> None:
    rows = [
        {
            "scheme": one.scheme,
            "bound": _short(one.bound),
            "of the least": f"{one.bound / bounds[0].bound:.3f}",
            "best step": f"{one.learning_rate:.2g}",
        }
        for one in bounds
    ]
    show_rows(rows, "Mean squared gradient at most, with these constants")
    console.print(
        "Each scheme with the learning rate that is best for its bound. Bounds are loose: they rank schemes, "
        "and say little of a training's real gradients.",
        style="dim",
        highlight=False,
    )


def _readable(scheme: SchemeReport) -> dict[str, str]:
    row = scheme.row()
    biased = "" if row["unbiased"] is None else "no" if row["unbiased"] else "yes"
    numbers = {head: _short(row[name]) for name, head in _HEADS.items()}
    return {"scheme": scheme.name, "biased": biased, **numbers}


def _short(number: float | None) -> str:
    """At most six characters, so that the table fits a narrow window.

    >>> [_short(number) for number in (None, 0.0, 9.5618, 0.000123456, 0.0909091, 7.1e-6)]
    ['', '0', '9.562', '1e-04', '0.0909', '7e-06']
    """
    if number is None:
        return ""
    return f"{number:.0e}" if 0 < abs(number) < 0.0005 else f"{round(number, 4):.4g}"
