"""`unalike advise constants`: smoothness, convexity, noise and dissimilarity of the clients' losses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import typer

from ...typing import Keywords
from ..options import experiment_of, name_of, with_data
from ..screen import console, print_json, show_rows
from .advise import advise
from .measured_constants import L2, MODEL, measure_constants, show_constants

if TYPE_CHECKING:
    from ...advice.constants import GradientConstants, MethodReport
    from ...advice.fair_constants import FairReport
    from ...advice.local_work import LocalWork

_LEGEND = (
    "longest: the step up to which the theorems hold; gap: their bound on the loss above its least value; "
    "gradient: on the mean squared gradient. These bounds are loose by orders of magnitude: they are no "
    "advice for choosing mu or beta."
)
_WORK_LEGEND = (
    "best local steps: where the bound is least, below 1 take one; rounds: the order of those until the mean "
    "squared gradient is at most {target:g} (--target), with the theorem's steps; gap kept: what a round "
    "leaves of the first gap at least, in the lower bound on two groups of clients."
)
_FAIR_LEGEND = (
    "longest: 1 / (4 L (1 + rho)); xi: the noise of the bound, as printed and corrected; gap: the corrected "
    "bound after so many rounds with the theorem's steps, for ranks that stay; none: losses need not be "
    "convex."
)


@advise.command("constants")
@with_data
def constants(
    rows: Keywords,
    model: str | None = MODEL,
    l2: float = L2,
    importance: str = typer.Option(
        "data", help="How much clients count: data (their rows), equal, or a file with one number per client."
    ),
    learning_rate: float = typer.Option(0.1, help="Steps of the training that is looked at and bounded."),
    local_steps: int = typer.Option(10, min=1, help="Local steps in a round, for the bounds."),
    rounds: int = typer.Option(100, min=1, help="Rounds, for the bounds."),
    per_round: int = typer.Option(10, min=1, help="Clients drawn each round, for the bound of sampling."),
    mu: float = typer.Option(0.1, min=0, help="FedProx's weight."),
    beta: float = typer.Option(0.7, help="Perturbed gradients' share of the own model."),
    rho: float | None = typer.Option(
        None,
        min=0,
        max=0.999,
        help="GIFAIR's penalty between groups, as a share of the largest.",
        show_default="0.5 where clients have groups (--groups)",
    ),
    target: float = typer.Option(0.01, help="Mean squared gradient to get to, for the order of the rounds."),
    visits: int = typer.Option(5, min=0, help="Rounds of training on whose way gradients are looked at."),
    seed: int = typer.Option(0, min=0, help="Same seed, same partition and training."),
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Estimate the constants of convergence bounds (smoothness, noise, heterogeneity), and what they bound.

    With groups of clients (--groups, or --rho, which takes every client for itself), also what the theorems
    on fair weights (GIFAIR) say: the longest step, xi and the bound, as printed and corrected.

    Example: unalike advise constants --clients 20 --model linear --l2 0.001
    """
    experiment = experiment_of(**rows, seed=seed, model=model, l2=l2)
    from ...advice.constants import compared_methods, report_methods
    from ...advice.local_work import report_local_work
    from ...experiments.build import make_federation
    from ...participation import Uniform

    federation = make_federation(experiment).with_importance(importance)
    found = measure_constants(experiment, federation, learning_rate, visits)
    reports = report_methods(found, learning_rate, local_steps, rounds, mu, beta)
    compared = compared_methods(mu, beta)
    work = report_local_work(compared, found.problem(), local_steps, rounds, target)
    fair: list[FairReport] = []
    if rho is not None or federation.groups is not None:
        from ...advice.fair_constants import report_fairness, report_gifair
        from ...algorithms.shared.fair_weights import client_groups

        share = 0.5 if rho is None else rho
        steps = (learning_rate, local_steps, rounds)
        reports.append(report_gifair(found, share, *steps))
        some = (0, per_round) if per_round < len(federation) else (0,)
        fair = [report_fairness(found, client_groups(federation), share, *steps, n) for n in some]
    drawn = Uniform(per_round=min(per_round, len(federation))).statistics(federation.importance)
    bound = found.sampling_bound(drawn, learning_rate, local_steps, rounds)
    sampled = bound.total if bound.conditions else math.inf
    if json:
        goal = found.timing_goal()
        print_json(
            {
                "constants": found.as_dict(),
                "methods": [report.as_dict() for report in reports],
                "local_work": {"target": target, "methods": [one.as_dict() for one in work]},
                "fairness": [report.as_dict() for report in fair],
                "sampling_bound": None if math.isinf(sampled) else sampled,
                "timing": {"conditioning": goal.conditioning, "unlike": goal.unlike},
            }
        )
    else:
        _show(found, reports, sampled, name_of(rows))
        show_rows([_work_row(one) for one in work], "Local steps and rounds with these constants")
        console.print(_WORK_LEGEND.format(target=target), style="dim", highlight=False)
        for note in dict.fromkeys(one.note for one in work if one.note):
            console.print(note, highlight=False)
        if fair:
            show_rows([_fair_row(report) for report in fair], f"Fair weights of {fair[0].groups} groups")
            console.print(_FAIR_LEGEND, style="dim", highlight=False)


def _show(found: GradientConstants, reports: list[MethodReport], sampled: float, data: str) -> None:
    show_constants(found, data)
    show_rows([_row(report) for report in reports], "Bounds with these constants")
    console.print(_LEGEND, style="dim", highlight=False)
    for report in reports:
        if report.note:
            console.print(f"[bold]{report.name}[/bold]: {report.note}", highlight=False)
    words = "its conditions do not hold with this step" if math.isinf(sampled) else f"{sampled:.4g}"
    console.print(f"Mean squared gradient where clients are drawn uniformly: {words}.", highlight=False)
    goal = found.timing_goal()
    options = f"--conditioning {goal.conditioning:.4g} --unlike {goal.unlike:.3g}"
    console.print(f"For timings: unalike advise timing {options}", highlight=False)


def _fair_row(report: FairReport) -> dict[str, str]:
    def text(number: float | None) -> str:
        return "none" if number is None else f"{number:.4g}"

    return {
        "clients": report.clients,
        "lam": text(report.lam),
        "longest": text(report.longest_step),
        "xi printed": text(report.published_noise),
        "xi": text(report.noise),
        "steps": "" if report.beta is None else f"{text(report.beta)} / ({text(report.gamma)} + t)",
        "gap": text(report.schedule_bound),
    }


def _work_row(one: LocalWork) -> dict[str, str]:
    best = _text(one.best_local_steps, "any")
    row = {"method": one.name, "best local steps": best, "rounds": _text(one.rounds)}
    return row | {"gap kept": _text(one.gap_left)}


def _row(report: MethodReport) -> dict[str, str]:
    return {
        "method": report.name,
        "longest": _text(report.longest_step),
        "gap": _text(report.gap_bound),
        "gradient": _text(report.gradient_bound),
    }


def _text(number: float | None, endless: str = "none") -> str:
    """For a cell of a table."""
    return "" if number is None else endless if math.isinf(number) else f"{number:.4g}"
