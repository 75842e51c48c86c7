"""`unalike advise heterogeneity`: measures of non-IID data, and the methods that suit them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from ...typing import Document, Keywords
from ..options import GRAPH, experiment_of, name_of, with_data
from ..screen import console, print_json, show_rows
from .advise import advise
from .network import check_place

if TYPE_CHECKING:
    from ...advice.heterogeneity import HeterogeneityAdvice
    from ...data import Federation
    from ...data.similarity import Similarity
    from ...theory.similarity.measured_change import MeasuredChange

_LEGEND = (
    "features: homogeneity over that of shuffled rows; labels: mean divergence of two clients' labels, in "
    "bits; gradients: n sum |g|^2 / |sum g|^2 at a first model; losses: what a client's model loses on "
    "another's rows. agrees: rank correlation with features, over pairs of clients."
)


@advise.command("heterogeneity")
@with_data
def heterogeneity(
    rows: Keywords,
    model: str = typer.Option("linear", help="Model for gradients and losses; none leaves them out."),
    privacy: str | None = typer.Option(
        None, help="Hide messages: rotation, projection:16 or gaussian:1,1e-5.", show_default="no"
    ),
    repeats: int = typer.Option(1, min=1, help="Shuffles of rows to compare with."),
    graph: str = GRAPH,
    per_round: int | None = typer.Option(
        None, min=1, help="Clients drawn each round, to see how alike cohorts are.", show_default="all"
    ),
    sampling: str | None = typer.Option(
        None, help="How they are drawn (`unalike list samplers`).", show_default="uniformly"
    ),
    availability: str | None = typer.Option(
        None, help="Who is there (`unalike list availabilities`).", show_default="everyone"
    ),
    rounds: int = typer.Option(50, min=1, help="Rounds of cohorts."),
    noise: float | None = typer.Option(
        None, min=0, help="What if features had noise of this standard deviation?", show_default="none"
    ),
    keep: float | None = typer.Option(
        None, help="What if clients had only this part of their rows?", show_default="all"
    ),
    seed: int = typer.Option(0, min=0, help="Same seed, same partition, shuffles and cohorts."),
    plot: Path | None = typer.Option(None, help="Where to draw the graph (PNG).", show_default="nowhere"),
    page: Path | None = typer.Option(None, help="Where to write a page (HTML).", show_default="nowhere"),
    sweep: Path | None = typer.Option(
        None,
        help="Where to draw how homogeneous as many clients would be, were rows dealt with more and more "
        "class and data imbalance (PNG).",
        show_default="nowhere",
    ),
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Measure heterogeneity of clients by features, labels, gradients and losses, and where these disagree.

    Example: unalike advise heterogeneity --partition imbalance:10,0 --clients 20
    """
    for place in (plot, page, sweep):
        if place is not None:
            check_place(place)
    settings: Keywords = {**rows, "seed": seed, "model": None if model == "none" else model}
    settings |= {"per_round": per_round, "sampling": sampling, "availability": availability}
    experiment = experiment_of(**settings)
    from ...advice.cohort_similarity import measure_cohorts
    from ...advice.heterogeneity import advise_heterogeneity
    from ...data.similarity import measure_similarity
    from ...experiments.build import make_federation, make_task
    from ...experiments.build_participation import make_participation

    federation = make_federation(experiment)
    found = measure_similarity(federation, privacy=privacy, repeats=repeats, seed=seed, graph=graph)
    cohorts = None
    if per_round is not None or availability is not None:
        who = make_participation(experiment, federation)
        cohorts = measure_cohorts(found, who, federation.importance, rounds, seed)
    task = None if model == "none" else make_task(experiment, federation)
    advice = advise_heterogeneity(federation, found, task, cohorts, seed)
    moved = None
    if noise is not None or keep is not None:
        moved = _what_if(federation, found, noise or 0.0, 1.0 if keep is None else keep, privacy, seed)
    given = {name: value for name, value in settings.items() if value is not None}
    places = write_similarity(found, federation, plot, page, advice, given)
    swept = None if sweep is None else _sweep(sweep, found, federation)
    if json:
        told = {"what_if": None if moved is None else moved.as_dict(), "sweep": swept}
        print_json({**advice.as_dict(), **places, **told})
        return
    _show(advice, name_of(rows))
    if moved is not None:
        _show_change(moved)


def _what_if(
    federation: Federation, found: Similarity, noise: float, keep: float, privacy: str | None, seed: int
) -> MeasuredChange:
    """The same clients with noisier or fewer rows."""
    from ...data.similarity import measure_similarity
    from ...data.similarity.altered_rows import with_noise, with_part_of_rows
    from ...theory.similarity.measured_change import compare_networks

    altered = with_noise(with_part_of_rows(federation, keep, seed), noise, seed)
    after = measure_similarity(altered, privacy=privacy, repeats=0, seed=seed)
    return compare_networks(found.weights, after.weights)


def _sweep(place: Path, found: Similarity, federation: Federation) -> Document:
    """Draw homogeneity over both knobs; what was drawn, and where."""
    from ...data.similarity.sweep import sweep_homogeneity
    from ...report import save
    from ...report.homogeneity_sweep import sweep_figure

    swept = sweep_homogeneity(federation)
    return {"plot": str(save(sweep_figure(swept, found), place)), "rows": swept.rows()}


def _show_change(moved: MeasuredChange) -> None:
    told = moved.as_dict()
    rows = [
        {
            "eigenvalues": name.replace("_", " "),
            "measured": f"{told[name]['measured']:.4g}",
            "printed": " to ".join(f"{bound:.4g}" for bound in told[name]["printed"]),
            "corrected": " to ".join(f"{bound:.4g}" for bound in told[name]["corrected"]),
        }
        for name in ("squared_deviation", "absolute_deviation")
    ]
    chance = told["probability_of_less"]
    show_rows(rows, f"what if: homogeneity {moved.before:.3f} becomes {moved.after:.3f}")
    console.print(
        f"epsilon {moved.network.epsilon:.3g}, delta {moved.network.delta:.3g}; P(less homogeneous) "
        f"{chance['corrected']:.3f} (printed {chance['printed']:.3f}). Bounds are of networks drawn "
        "independently of each other; these share their clients.",
        style="dim",
        highlight=False,
    )


def write_similarity(
    found: Similarity,
    federation: Federation,
    plot: Path | None,
    page: Path | None,
    advice: HeterogeneityAdvice | None = None,
    config: Document | None = None,
) -> dict[str, str]:
    """The picture and the page that are asked for, and where they are."""
    places: dict[str, str] = {}
    if plot is not None:
        from ...report import save
        from ...report.similarity_plots import similarity_overview

        places["plot"] = str(save(similarity_overview(found, federation), plot))
    if page is not None:
        from ...report.similarity_report import report_similarity

        places["page"] = str(report_similarity(page, found, federation, advice, config))
    return places


def show_similarity(found: Similarity) -> None:
    """The verdict and what to beware of."""
    console.print(f"[bold]{escape(found.verdict())}[/bold]", highlight=False)
    if found.graph != "full":
        every = len(found.compared) * (len(found.compared) - 1) // 2
        joined = f"{found.edge_count():,} of {every:,} pairs, {found.components:,} component(s)"
        console.print(f"Graph {found.graph} joins {joined}; homogeneity is of all pairs.", highlight=False)
    for words in found.warnings:
        console.print(escape(words), style="dim", highlight=False)


def _show(advice: HeterogeneityAdvice, data: str) -> None:
    rows = [
        {
            "measure": report.name,
            "value": "" if math.isnan(report.value) else f"{report.value:.3g}",
            "if alike": f"{report.alike:g}",
            "agrees": "" if report.agreement is None else f"{report.agreement:.2f}",
        }
        for report in advice.reports
    ]
    show_rows(
        rows, f"{data}: {advice.similarity.population:,} clients, {advice.groups} group(s) in the graph"
    )
    console.print(_LEGEND, style="dim", highlight=False)
    show_similarity(advice.similarity)
    if advice.cohorts is not None:
        found = advice.cohorts.summary()
        shown = {name: "-" if value is None else f"{value:.3g}" for name, value in found.items()}
        there = "" if advice.cohorts.available is None else f", of who is there {shown['available_mean']}"
        console.print(
            f"Homogeneity of a round's cohort {shown['cohort_mean']} ± {shown['cohort_deviation']}{there}, "
            f"of everyone {shown['everyone']} ({shown['rounds']} rounds).",
            highlight=False,
        )
    reasons = escape(" ".join(advice.reasons))
    console.print(f"\n[bold]Use {advice.recommended}[/bold]: {reasons}", highlight=False)
