"""`unalike advise`: what suits these clients, and why."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer
from rich.markup import escape

from ...core.catalogue import check_name
from ...core.plain_files import check_plain_file
from ...errors import ConfigError
from ..help import Program
from ..options import experiment_of
from ..screen import console, print_json, show_rows

if TYPE_CHECKING:
    from ...advice import Advice, SchemeReport
    from ...advice.timing import PolicyReport, TimingAdvice
    from ...timing import Hardware

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


DATA = typer.Option("digits", help="Data set, or path of a folder of clients (`unalike list data`).")
PARTITION = typer.Option(None, help="How rows are dealt to clients.", show_default="the data's own, or iid")
CLIENTS = typer.Option(None, min=1, help="Number of clients.", show_default="all, or 100")
SAMPLES = typer.Option(None, min=1, help="Use only that many rows.", show_default="all")


@advise.callback()
def start() -> None:
    """Advice for these clients, with its reasons."""


@advise.command("sampling")
def sampling(
    data: str = DATA,
    partition: str | None = PARTITION,
    clients: int | None = CLIENTS,
    samples: int | None = SAMPLES,
    per_round: int = typer.Option(10, min=1, help="Clients drawn each round."),
    importance: str = typer.Option(
        "data", help="How much clients count: data (their rows), equal, similarity, or a file of numbers."
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
    experiment = experiment_of(data=data, partition=partition, clients=clients, samples=samples, seed=seed)
    from ...advice import advise_sampling
    from ...experiments.build import make_federation

    advice = advise_sampling(make_federation(experiment).with_importance(importance), per_round)
    if plot is not None:
        from ...report import save
        from ...report.participation_plots import weight_variance

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


_TIMING_LEGEND = (
    "steps, uplinks: aggregations and results per unit of time; age: versions that results are behind, on "
    "average and at most; window: steps after which all clients have counted as they should; longest: the "
    "part of the way to its own optimum that a client may go in a job before training diverges; time: until "
    "the target is reached on quadratic losses; bias: how far weights that are not corrected are from the "
    "importances (chi-square)."
)


@advise.command("timing")
def timing(
    hardware: str = typer.Option("spread:80", help="How fast clients are (`unalike list hardware`)."),
    clients: int | None = typer.Option(None, min=1, help="Number of clients.", show_default="10, or all"),
    times: Path | None = typer.Option(
        None, help="A file with the measured time of each client's job, instead of hardware."
    ),
    importance: str = typer.Option(
        "equal", help="How much clients count: equal, or a file with one number per client."
    ),
    target: float = typer.Option(0.01, help="The error to reach, as a share of the initial one."),
    conditioning: float = typer.Option(10.0, help="The largest curvature of the losses over the smallest."),
    unlike: float = typer.Option(
        0.1, help="How far clients' optima are apart, as a share of the initial error."
    ),
    seed: int = typer.Option(0, min=0, help="Same seed, same random times."),
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Compare when the server could aggregate, with clients of these speeds, and say which gets there first.

    Example: unalike advise timing --hardware spread:80 --clients 50
    """
    if times is None:
        check_name("hardware", hardware)
    from ...advice.timing import advise_timing, check_clients
    from ...advice.timing_race import Goal
    from ...data.importance import importance_of
    from ...timing import hardware_registry

    goal = Goal(target=target, conditioning=conditioning, unlike=unlike)
    check_clients(clients or 1)
    known = (
        _measured(times, clients)
        if times
        else hardware_registry.make(hardware, clients=clients or 10, seed=seed)
    )
    shares = importance_of(importance, np.ones(len(known.mean), np.int64))
    advice = advise_timing(known, shares, goal=goal, seed=seed)
    if json:
        print_json({"hardware": str(times or hardware), **advice.as_dict()})
    else:
        _show_timing(advice, str(times or hardware))


def _measured(path: Path, clients: int | None) -> Hardware:
    """Times from a text file, separated by commas, spaces or line ends."""
    from ...timing import FixedTimes

    try:
        check_plain_file(path)
        words = path.read_text(encoding="utf-8").replace(",", " ").split()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"times must be a file with one number per client: {path} ({error}).") from None
    if not words or (clients is not None and len(words) != clients):
        wanted = "at least one" if clients is None else f"one for each of {clients} clients"
        raise ConfigError(f"{path} must hold times, {wanted}, but holds {len(words)}.")
    return FixedTimes(words)


def _show_timing(advice: TimingAdvice, hardware: str) -> None:
    plain = {report.policy: report for report in advice.policies if report.weights == "identical"}
    rows = [
        _timing_row(report, plain.get(report.policy))
        for report in advice.policies
        if report.weights == "corrected"
    ]
    goal = advice.goal
    show_rows(rows, f"{hardware}: {advice.clients:,} clients, to {goal.target:g} of the initial error")
    console.print(_TIMING_LEGEND, style="dim", highlight=False)
    reasons = escape(" ".join(advice.reasons))
    console.print(f"\n[bold]Use {advice.recommended}[/bold]: {reasons}", highlight=False)


def _timing_row(report: PolicyReport, plain: PolicyReport | None) -> dict[str, str]:
    from ...advice.timing import readable

    return {
        "policy": report.policy,
        "steps": readable(report.aggregations_per_time),
        "uplinks": readable(report.uplinks_per_time),
        "age": f"{readable(report.mean_staleness)}, {report.max_staleness}",
        "window": _window(report.window),
        "longest": f"{report.largest_stable_step:.3g}",
        "time": readable(report.time_to_target),
        "bias": _short(plain.chi_square) if plain else "",
    }


def _window(steps: int | None) -> str:
    """All digits of a short window, the first of a long one.

    >>> _window(60), _window(79_656_329_334), _window(None)
    ('60', '7e10', '')
    """
    if steps is None or steps < 10**6:
        return "" if steps is None else str(steps)
    zeros = int(math.log10(steps))
    return f"{steps // 10**zeros}e{zeros}"
