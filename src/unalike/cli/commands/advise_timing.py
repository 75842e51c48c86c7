"""`unalike advise timing`: when the server should aggregate, with clients of these speeds."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer
from rich.markup import escape

from ...core.catalog import check_name
from ...core.plain_files import check_plain_file
from ...errors import ConfigError
from ..options import experiment_of
from ..screen import console, print_json, show_rows
from .advise import PARTITION, SAMPLES, _short, advise
from .measured_constants import L2, MODEL, measure_constants, show_constants

if TYPE_CHECKING:
    from ...advice.constants import GradientConstants
    from ...advice.timing import PolicyReport, TimingAdvice
    from ...advice.timing_bounds import TimingBound
    from ...data import Federation
    from ...timing import Clients, Hardware

_LEGEND = (
    "steps, uplinks: aggregations and results per unit of time; age: versions that results are behind, on "
    "average and at most; window: steps after which all clients have counted as they should; longest: the "
    "part of the way to its own optimum that a client may go in a job before training diverges; time: until "
    "the target is reached on quadratic losses; bias: how far weights that are not corrected are from the "
    "importances (chi-square). Windows that change in training (fedfix-widening) are not compared: no bound "
    "is known for them."
)

_BOUND_LEGEND = (
    "rate: the longest local step that the theory allows; gap: the order of the mean optimality gap with "
    "corrected weights, without constants, to be compared and not to be believed (empty: no bound is known); "
    "bias: what identical weights add, however long one trains."
)


@advise.command("timing")
def timing(
    hardware: str = typer.Option("spread:80", help="How fast clients are (`unalike list hardware`)."),
    clients: int | None = typer.Option(None, min=1, help="Number of clients.", show_default="10, or all"),
    times: Path | None = typer.Option(
        None, help="A file with the measured time of each client's job, instead of hardware."
    ),
    data: str | None = typer.Option(
        None,
        help="Data set or folder of clients whose losses are measured, for conditioning and unlike.",
        show_default="none",
    ),
    partition: str | None = PARTITION,
    samples: int | None = SAMPLES,
    model: str | None = MODEL,
    l2: float = L2,
    importance: str = typer.Option(
        "equal",
        help="How much clients count: equal, data (their rows, where there is data), or a file with one "
        "number per client.",
    ),
    target: float = typer.Option(0.01, help="The error to reach, as a share of the initial one."),
    conditioning: float | None = typer.Option(
        None, help="The largest curvature of the losses over the smallest.", show_default="measured, or 10"
    ),
    unlike: float | None = typer.Option(
        None,
        help="How far clients' optima are apart, as a share of the initial error.",
        show_default="measured, or 0.1",
    ),
    until: float = typer.Option(1000.0, help="With data: the time for which bounds are computed."),
    local_steps: int = typer.Option(10, min=1, help="With data: local steps of a job, for the bounds."),
    seed: int = typer.Option(0, min=0, help="Same seed, same random times."),
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Compare aggregation timings for clients of these speeds, and say which reaches the target first.

    Example: unalike advise timing --hardware spread:80 --clients 50
    With data, what losses are like is measured: unalike advise timing --data digits --clients 20 --model
    linear --l2 0.01
    """
    if times is None:
        check_name("hardware", hardware)
    from ...advice.timing import advise_timing, check_clients
    from ...advice.timing_race import RaceTarget
    from ...data.importance import importance_of
    from ...timing import Clients, hardware_registry

    given = {"conditioning": conditioning, "unlike": unlike}
    goal = RaceTarget(target=target, **_typed_options(given))
    check_clients(clients or 1)
    here, found = None, None
    if data is not None:
        here, found = _look_at(data, partition, clients, samples, model, l2, importance, seed)
        goal, clients = replace(found.timing_goal(target), **_typed_options(given)), len(here)
    known = (
        _read_measured_times(times, clients)
        if times
        else hardware_registry.make(hardware, clients=clients or 10, seed=seed)
    )
    shares = here.importance if here else importance_of(importance, np.ones(len(known.mean), np.int64))
    advice = advise_timing(known, shares, goal=goal, seed=seed)
    bounds = [] if found is None else _bounds(known, Clients(shares, seed), found, until, local_steps)
    if json:
        measured = None if found is None else found.as_dict()
        listed = {"measured": measured, "bounds": [bound.as_dict() for bound in bounds]}
        print_json({"hardware": str(times or hardware), **advice.as_dict(), **listed})
        return
    _show(advice, str(times or hardware))
    if found is not None:
        show_constants(found, str(data))
        console.print(
            f"From these: conditioning {goal.conditioning:.4g}, unlike {goal.unlike:.3g}"
            + (" (as given)." if _typed_options(given) else "."),
            highlight=False,
        )
        show_rows([_bound_row(bound) for bound in bounds], f"Bounds after {until:g} units of time")
        console.print(_BOUND_LEGEND, style="dim", highlight=False)


def _bounds(
    known: Hardware, clients: Clients, found: GradientConstants, until: float, local_steps: int
) -> list[TimingBound]:
    from ...advice.timing import candidates
    from ...advice.timing_bounds import timing_bounds

    if not until > 0:
        raise ConfigError(f"until must be above 0, but is {until}.")
    return timing_bounds(candidates(known, len(known.mean)), clients, found, until, local_steps)


def _bound_row(bound: TimingBound) -> dict[str, str]:
    return {
        "policy": bound.policy,
        "steps": f"{bound.aggregations:,}",
        "rate": f"{bound.learning_rate:.2g}",
        "gap": "" if bound.gap is None else f"{bound.gap:.4g}",
        "bias": f"{bound.bias:.3g}",
    }


def _typed_options(options: dict[str, float | None]) -> dict[str, float]:
    """The options that were typed."""
    return {name: value for name, value in options.items() if value is not None}


def _look_at(
    data: str,
    partition: str | None,
    clients: int | None,
    samples: int | None,
    model: str | None,
    l2: float,
    importance: str,
    seed: int,
) -> tuple[Federation, GradientConstants]:
    """The clients of a data set, and the constants of their losses."""
    experiment = experiment_of(
        data=data, partition=partition, clients=clients, samples=samples, seed=seed, model=model, l2=l2
    )
    from ...advice.timing import check_clients
    from ...experiments.build import make_federation

    federation = make_federation(experiment).with_importance(importance)
    check_clients(len(federation))
    return federation, measure_constants(experiment, federation)


def _read_measured_times(path: Path, clients: int | None) -> Hardware:
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


def _show(advice: TimingAdvice, hardware: str) -> None:
    plain = {report.policy: report for report in advice.policies if report.weights == "identical"}
    rows = [
        _row(report, plain.get(report.policy)) for report in advice.policies if report.weights == "corrected"
    ]
    goal = advice.goal
    show_rows(rows, f"{hardware}: {advice.clients:,} clients, to {goal.target:g} of the initial error")
    console.print(_LEGEND, style="dim", highlight=False)
    reasons = escape(" ".join(advice.reasons))
    console.print(f"\n[bold]Use {advice.recommended}[/bold]: {reasons}", highlight=False)


def _row(report: PolicyReport, plain: PolicyReport | None) -> dict[str, str]:
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
