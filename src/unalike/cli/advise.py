"""`unalike advise`: what suits these clients, and why."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.markup import escape

from ..config import make_experiment
from ..experiment import make_federation
from ..insight import Advice, SchemeReport, advise_sampling
from ..report import save
from ..report.participation_plots import weight_variance
from .screen import console, print_json, show_rows

advise = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
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


@advise.callback()
def start() -> None:
    """Advice for these clients, with its reasons."""


@advise.command("sampling")
def sampling(
    data: str = typer.Option(
        "digits", help="Data set, or path of a folder of clients (`unalike list data`)."
    ),
    partition: str | None = typer.Option(
        None, help="How rows are dealt to clients.", show_default="the data's own, or iid"
    ),
    clients: int | None = typer.Option(None, min=1, help="Number of clients.", show_default="all, or 100"),
    samples: int | None = typer.Option(None, min=1, help="Use only that many rows.", show_default="all"),
    per_round: int = typer.Option(10, min=1, help="Clients drawn each round."),
    importance: str = typer.Option(
        "data", help="How much clients count: data (their rows), equal, or a file with one number per client."
    ),
    seed: int = typer.Option(0, min=0, help="Same seed, same partition."),
    plot: Path | None = typer.Option(
        None, help="Where to draw every client's weight variance.", show_default="nowhere"
    ),
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Compare sampling schemes by their exact statistics, and say which to use.

    Example: unalike advise sampling --partition lognormal:1 --clients 50 --per-round 5
    """
    values = {"data": data, "partition": partition, "clients": clients, "samples": samples, "seed": seed}
    experiment = make_experiment({name: value for name, value in values.items() if value is not None})
    advice = advise_sampling(make_federation(experiment).with_importance(importance), per_round)
    if plot is not None:
        save(weight_variance(advice.statistics), plot)
    if json:
        print_json({**advice.as_dict(), "plot": None if plot is None else str(plot)})
    else:
        _show(advice, data)


def _show(advice: Advice, data: str) -> None:
    rows = [_readable(scheme) for scheme in advice.schemes]
    show_rows(rows, f"{data}: {advice.per_round} of {advice.clients:,} clients each round")
    console.print(_LEGEND, style="dim", highlight=False)
    for scheme in advice.schemes:
        if scheme.note:
            console.print(f"[bold]{scheme.name}[/bold]: {escape(scheme.note)}", highlight=False)
    reasons = escape(" ".join((*advice.reasons, *advice.warnings)))
    console.print(f"\n[bold]Use {advice.recommended}[/bold]: {reasons}", highlight=False)


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
