"""`unalike advise mixture`: whether a Gaussian mixture of these clients can be found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ...typing import Keywords
from ..options import experiment_of, name_of, with_data
from ..screen import console, print_json, show_rows
from .advise import advise

if TYPE_CHECKING:
    from ...advice.mixture_conditions import MixtureAdvice

_LEGEND = (
    "Distances are in standard deviations of a population, which is a class. The conditions are sufficient: "
    "where they fail, the theory is silent, and fem-omd-gaussian may work all the same."
)


@advise.command("mixture")
@with_data
def mixture(
    rows: Keywords,
    least_weight: float | None = typer.Option(
        None,
        help="Smallest mixture weight (beta) of any client in any step.",
        show_default="the smallest share of a class at a client",
    ),
    accuracy: float = typer.Option(0.1, help="Accuracy (eps) to which means and weights are wanted."),
    em_steps: int = typer.Option(5, min=1, help="Exchanges of a step."),
    seed: int = typer.Option(0, min=0, help="Same seed, same partition."),
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Check the conditions under which FEM-OMD finds Gaussian components, with the classes as components.

    Example: unalike advise mixture --data gaussians:3,5,300 --partition iid --clients 10
    """
    experiment = experiment_of(**rows, seed=seed)
    from ...advice.mixture_conditions import advise_mixture
    from ...experiments.build import make_federation

    advice = advise_mixture(make_federation(experiment), least_weight, accuracy, em_steps)
    print_json(advice.as_dict()) if json else _show(advice, name_of(rows))


def _show(advice: MixtureAdvice, data: str) -> None:
    verdicts = {True: "holds", False: "does not hold", None: "open"}
    table = [
        {"condition": one.name, "asked": one.asked, "found": one.found, "verdict": verdicts[one.holds]}
        for one in advice.conditions
    ]
    show_rows(table, f"{data}: {advice.components} components in {advice.dimension} dimensions")
    console.print(_LEGEND, style="dim", highlight=False)
    console.print(
        f"\nThe nearest two means are {advice.distance:.4g} apart, which is {advice.constant:.3g} "
        "sqrt(log(m / beta)); the theory asks for 128.",
        highlight=False,
    )
