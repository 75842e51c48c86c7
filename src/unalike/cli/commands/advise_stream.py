"""`unalike advise stream`: how much weight historical data should get, and why."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer
from rich.markup import escape

from ...errors import ConfigError
from ...typing import Int64s, Keywords
from ..options import experiment_of, name_of, with_data
from ..screen import console, print_json, show_rows
from .advise import advise

if TYPE_CHECKING:
    from ...advice.streams import StrategyReport, StreamAdvice
    from ...data.streams.bound_constants import Constants
    from ...data.streams.target_importance import Tradeoff

_LEGEND = (
    "weight: what historical clients count together; bound: the error bound over the least one; noise: of "
    "gradients, from rows that pass; rows: the part of all rows that count (N_eff / N)."
)


@advise.command("stream")
@with_data
def stream(
    rows: Keywords,
    historical: str | None = typer.Option(
        None,
        help="Clients whose rows stay: how many (the first ones), or a file with their numbers.",
        show_default="half",
    ),
    historical_share: float | None = typer.Option(
        None,
        help="Share of all rows that historical clients have, N_hist / N.",
        show_default="as partitioned",
    ),
    target: str = typer.Option(
        "data",
        help="Target weights by which the error is judged: data (rows), equal, or a file of one number per "
        "client.",
    ),
    discrepancy: float | None = typer.Option(
        None,
        help="With --ratio and a target: the part of c2 that stands for the discrepancy between clients.",
        show_default="half",
    ),
    held: int = typer.Option(1, min=1, help="Rows that a fresh client holds at a time."),
    ratio: float | None = typer.Option(
        None, help="c2/c1 of the error bound.", show_default="estimated from first local steps"
    ),
    fixed: float = typer.Option(0.5, help="A weight of historical clients to compare with."),
    model: str | None = typer.Option(
        None, help="Model of the first steps.", show_default="as `unalike run` has it"
    ),
    steps: int = typer.Option(10, min=1, help="First local steps."),
    learning_rate: float = typer.Option(0.1, help="Their learning rate."),
    seed: int = typer.Option(0, min=0, help="Same seed, same partition and steps."),
    plot: Path | None = typer.Option(
        None, help="Where to draw the bound against the weight.", show_default="nowhere"
    ),
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Compare weights of historical and fresh clients, and recommend importances.

    Example: unalike advise stream --clients 50 --historical 25 --historical-share 0.2 --ratio 0.15
    """
    split = _split_settings(historical, historical_share)
    experiment = experiment_of(**rows, **split, seed=seed, model=model)
    from ...advice.streams import advise_streams
    from ...experiments.build import make_federation, make_task
    from ...training.stream_constants import FirstSteps, measure_constants

    federation = make_federation(experiment)
    kept = _historical(historical, len(federation))
    known = _given_tradeoff(ratio, discrepancy)
    if ratio is None and len(kept) < len(federation):
        most = None if len(kept) else held
        first = FirstSteps(steps=steps, learning_rate=learning_rate, most_rows=most)
        willing = kept if len(kept) else np.arange(len(federation))
        known = measure_constants(federation, make_task(experiment, federation), willing, first, seed)
    advice = advise_streams(federation, kept, known, held, fixed, target)
    if plot is not None:
        from ...report import save
        from ...report.stream_plots import stream_costs

        save(stream_costs(advice), plot)
    if json:
        print_json({**advice.as_dict(), "plot": None if plot is None else str(plot)})
    else:
        _show(advice, name_of(rows))


def _split_settings(historical: str | None, share: float | None) -> Keywords:
    """The settings that partition historical and fresh rows by themselves, where that is asked for."""
    if share is None:
        return {}
    if historical is not None and not historical.isdecimal():
        raise ConfigError("with historical_share, historical must be a number of clients, the first ones.")
    return {"historical_share": share, "stream": f"spread:1,{historical or 0.5}"}


def _given_tradeoff(ratio: float | None, discrepancy: float | None) -> Constants | Tradeoff:
    """What the command line says of the bound's constants; an infinite ratio where nothing."""
    from ...data.streams.target_importance import USUAL_DISCREPANCY, Tradeoff

    if discrepancy is not None and (ratio is None or not 0 <= discrepancy <= 1):
        raise ConfigError("discrepancy is a part of c2, from 0 to 1, and goes with ratio.")
    known = USUAL_DISCREPANCY if discrepancy is None else discrepancy
    return Tradeoff(math.inf if ratio is None else ratio, known)


def _historical(words: str | None, clients: int) -> Int64s:
    """The first so many clients, or those whose numbers a file has."""
    from ...data.historical_split import USUAL_CLIENTS, count_historical
    from ...data.importance import read_importance

    if words is None or words.isdecimal():
        return np.arange(count_historical(USUAL_CLIENTS if words is None else int(words), clients))
    try:
        numbers = read_importance(words)
    except ConfigError:
        raise ConfigError(
            f"historical must be a number of clients, or a file of their numbers: {words}."
        ) from None
    if not (numbers == np.floor(numbers)).all():
        raise ConfigError(f"{words} must hold whole numbers of clients.")
    return numbers.astype(np.int64)


def _show(advice: StreamAdvice, data: str) -> None:
    rows = [_row(report) for report in advice.strategies]
    ratio = "" if advice.ratio is None else f", c2/c1 = {advice.ratio:.3g}"
    target = "" if advice.target == "data" else f", target weights {advice.target}"
    show_rows(rows, f"{data}: {advice.clients:,} clients, {advice.fresh:,} of them fresh{ratio}{target}")
    console.print(_LEGEND, style="dim", highlight=False)
    if advice.constants is not None:
        found = advice.constants
        console.print(
            f"Estimated: D = {found.diameter:.3g}, G = {found.gradient:.3g}, B = {found.loss:.3g}, "
            f"{found.parameters:,} parameters, {found.rows:,} rows.",
            highlight=False,
        )
    reasons = escape(" ".join((*advice.reasons, *advice.warnings)))
    console.print(f"\n[bold]Use {advice.recommended}[/bold]: {reasons}", highlight=False)


def _row(report: StrategyReport) -> dict[str, str]:
    def text(number: float | None, form: str) -> str:
        return "" if number is None else "infinite" if math.isinf(number) else format(number, form)

    return {
        "strategy": report.name,
        "weight": text(report.historical, ".1%"),
        "bound": text(report.cost, ".4g"),
        "noise": text(report.noise, ".3g"),
        "rows": text(report.effective, ".1%"),
        "note": report.note,
    }
