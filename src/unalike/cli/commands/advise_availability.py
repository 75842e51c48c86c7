"""`unalike advise availability`: weighting strategies under intermittent availability, and their bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import typer

from ...core.catalog import check_name
from ...typing import Keywords
from ..options import experiment_of, name_of, with_data
from ..screen import console, print_json, show_rows
from .advise import advise

if TYPE_CHECKING:
    from ...advice.availability import AvailabilityAdvice, StrategyBound

_LEGEND = (
    "kept: clients with a weight; optim.: bound on how far training is from what it minimizes, but for the "
    "term of joint states, which stands apart; bias: how much higher the loss is there, measured; at most: "
    "the bound on that; total: the bound on the error, 2 kappa^2 times both errors, without joint states. "
    "Bounds are loose by orders of magnitude: they rank, they do not predict."
)
_WORDS = {
    "smoothness": ("L", "smoothness, proved"),
    "convexity": ("mu", "strong convexity"),
    "gradient_variance": ("sigma^2", "variance of mini-batch gradients, the largest client's"),
    "slope": ("D", "longest gradient of a client that was seen"),
    "spread": ("H", "largest difference of a client's losses that was seen"),
    "heterogeneity": ("Gamma", "largest loss above its least that a client has at the optimum of all"),
    "diameter": ("diam", "of a ball around the optimum that holds all models that were seen"),
}


@advise.command("availability")
@with_data
def availability(
    rows: Keywords,
    availability: str = typer.Option(
        "groups", help="When clients are there (`unalike list availabilities`)."
    ),
    model: str = typer.Option("linear", help="Model that is measured; its losses must be convex."),
    l2: float = typer.Option(0.01, min=0, help="Weight of half the squared norm of the parameters."),
    importance: str = typer.Option(
        "data", help="How much clients count: data (their rows), equal, or a file with one number per client."
    ),
    bias_weight: float = typer.Option(1.0, min=0, help="CA-Fed's weight of the bias, kappa^2."),
    local_steps: int = typer.Option(5, min=1, help="Local steps in a round, for the bounds."),
    rounds: int = typer.Option(200, min=1, max=10**6, help="Rounds, for the bounds."),
    visits: int = typer.Option(5, min=0, help="Rounds of training on whose way gradients are looked at."),
    seed: int = typer.Option(0, min=0, help="Same seed, same partition, clients and training."),
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Bound what each strategy costs where clients come and go, with constants measured on these clients.

    Example: unalike advise availability --clients 20 --partition dirichlet:0.3 --availability groups
    """
    check_name("availabilities", availability)
    experiment = experiment_of(**rows, seed=seed, model=model, l2=l2)
    from ...advice.availability import Population, advise_availability
    from ...advice.client_losses import ProbeSettings, only_clients, some_clients
    from ...advice.measure_availability import measure_losses
    from ...experiments.build import make_federation, make_task
    from ...participation import availability_registry

    federation = make_federation(experiment).with_importance(importance)
    coming = availability_registry.make(availability, clients=len(federation), seed=seed)
    coming.check(len(federation), rounds)
    look = ProbeSettings(rounds=visits)
    chosen = some_clients(federation, look.most_clients, seed)
    facts = measure_losses(only_clients(federation, chosen), make_task(experiment, federation), look, seed)
    advice = advise_availability(
        facts,
        Population.of(coming, chosen),
        rounds=rounds,
        local_steps=local_steps,
        bias_weight=bias_weight,
        seed=seed,
    )
    if json:
        print_json({"data": name_of(rows), "availability": availability, **advice.as_dict()})
        return
    _show(advice, name_of(rows), availability, len(federation))


def _show(advice: AvailabilityAdvice, data: str, availability: str, clients: int) -> None:
    rows = [
        {"constant": _WORDS[name][0], "value": f"{value:.4g}", "what it is": _WORDS[name][1]}
        for name, value in advice.measured.items()
    ]
    show_rows(rows, f"{data}: measured on {advice.clients:,} clients")
    show_rows(
        [_row(bound) for bound in advice.strategies], f"{availability}: bounds after {advice.rounds:,} rounds"
    )
    console.print(_LEGEND, style="dim", highlight=False)
    if advice.clients < clients:
        console.print(f"Note: bounds are of the {advice.clients:,} clients measured.", highlight=False)
    for note in advice.notes:
        console.print(f"Note: {note}.", highlight=False)
    console.print(f"\n{_verdict(advice)}", highlight=False)


def _row(bound: StrategyBound) -> dict[str, str]:
    errors = bound.optimization
    return {
        "strategy": bound.strategy,
        "kept": str(bound.kept),
        "optim.": _text(errors.total - errors.states),
        "states": _text(errors.states),
        "bias": _text(bound.bias),
        "at most": _text(bound.bias_bound),
        "total": _text(bound.total_without_states),
    }


def _text(number: float | None) -> str:
    return "" if number is None else "none" if math.isinf(number) else f"{number:.2g}"


def _verdict(advice: AvailabilityAdvice) -> str:
    """Who is first by the bound, and by its parts."""
    quickest = min(advice.strategies, key=lambda one: one.optimization.total - one.optimization.states)
    least = min(advice.strategies, key=lambda one: one.bias)
    parts = f"{quickest.strategy} is quickest, {least.strategy} has the least bias"
    if advice.strategies[0].total is None:
        return f"By the bound: {parts}."
    whole, joint = (
        min(advice.strategies, key=lambda one: getattr(one, total) or 0.0).strategy
        for total in ("total_without_states", "total")
    )
    rounds = f"{advice.rounds:,} rounds"
    return f"By the bound: {whole} is best after {rounds} ({joint} with joint states), {parts}."
