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
    """Compare what historical and fresh clients could count, and say which importances to use.

    Example: unalike advise stream --clients 50 --historical 10 --ratio 0.15
    """
    experiment = experiment_of(**rows, seed=seed, model=model)
    from ...advice.streams import advise_streams
    from ...experiments.build import make_federation, make_task
    from ...training.stream_constants import FirstSteps, measure_constants

    federation = make_federation(experiment)
    kept = _historical(historical, len(federation))
    known: float | Constants = math.inf if ratio is None else ratio
    if ratio is None and len(kept) < len(federation):
        most = None if len(kept) else held
        first = FirstSteps(steps=steps, learning_rate=learning_rate, most_rows=most)
        willing = kept if len(kept) else np.arange(len(federation))
        known = measure_constants(federation, make_task(experiment, federation), willing, first, seed)
    advice = advise_streams(federation, kept, known, held, fixed)
    if plot is not None:
        from ...report import save
        from ...report.stream_plots import stream_costs

        save(stream_costs(advice), plot)
    if json:
        print_json({**advice.as_dict(), "plot": None if plot is None else str(plot)})
    else:
        _show(advice, name_of(rows))


def _historical(words: str | None, clients: int) -> Int64s:
    """The first so many clients, or those whose numbers a file has."""
    from ...data.importance import read_importance

    if words is None or words.isdecimal():
        count = clients // 2 if words is None else int(words)
        if count > clients:
            raise ConfigError(f"{count} clients cannot be historical, for there are {clients}.")
        return np.arange(count)
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
    show_rows(rows, f"{data}: {advice.clients:,} clients, {advice.fresh:,} of them fresh{ratio}")
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
