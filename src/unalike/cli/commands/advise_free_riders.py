"""`unalike advise free-riders`: their effect on training, and whether they would be detected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from ...core.spec import number_or_word
from ...errors import ConfigError
from ...typing import Keywords
from ..options import experiment_of, name_of, with_data
from ..screen import console, print_json, show_rows
from .advise import advise

if TYPE_CHECKING:
    from ...advice.free_riders import FreeRiderAdvice, FreeRiderReport

_LEGEND = (
    "weight: what free-riders count together; left: what a round leaves of the distance to the optimum; "
    "slower: rounds for every round without them; V: variance of the difference from a training without "
    "them, of plain ones and of ones with noise that never fades; printed: the published formula for plain "
    "ones, which is too large with free-riders (an erratum)."
)


@advise.command("free-riders")
@with_data
def free_riders(
    rows: Keywords,
    numbers: str | None = typer.Option(
        None, help="How many free-riders, such as 1,5,45.", show_default="1, half and nine tenths of all"
    ),
    declared: str = typer.Option("mean", help="Rows that each claims to have: mean, min, max or 10x."),
    epochs: int | None = typer.Option(
        None, min=0, help="Local passes each round.", show_default="1, unless steps are given"
    ),
    steps: int | None = typer.Option(None, min=0, help="Local mini-batches instead.", show_default="none"),
    batch_size: int = typer.Option(16, min=0, help="Rows in a mini-batch; 0 means all rows."),
    learning_rate: float = typer.Option(0.1, help="Clients' learning rate."),
    curvature: float = typer.Option(1.0, help="Curvature of the clients' losses."),
    sigma: float = typer.Option(1.0, min=0, help="Standard deviation of a row's gradient."),
    mu: float = typer.Option(0.0, min=0, help="FedProx's weight of the distance to the model."),
    model: str = typer.Option("mlp", help="Model, whose size says what chance looks like."),
    seed: int = typer.Option(0, min=0, help="Same seed, same partition."),
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Say how free-riders that join these clients would slow training, and what would give them away.

    Example: unalike advise free-riders --clients 5 --numbers 1,5,45 --steps 5
    """
    experiment = experiment_of(**rows, seed=seed, model=model)
    counts = None if numbers is None else _counts(numbers)
    import jax

    from ...advice.free_riders import LocalDescent, advise_free_riders
    from ...core.pytrees import size
    from ...experiments.build import make_federation, make_task

    work = LocalDescent(epochs, steps, batch_size, learning_rate, curvature, sigma, mu)
    federation = make_federation(experiment)
    shapes = jax.eval_shape(make_task(experiment, federation).init, jax.random.key(0))
    advice = advise_free_riders(federation, work, counts, declared, size(shapes))
    print_json(advice.as_dict()) if json else _show(advice, name_of(rows))


def _counts(words: str) -> list[int]:
    """Whole numbers between commas."""
    found = [number_or_word(word.strip()) for word in words.split(",") if word.strip()]
    counts = [number for number in found if isinstance(number, int) and number >= 0]
    if not counts or len(counts) < len(found):
        raise ConfigError(f"numbers must be whole numbers of free-riders, such as 1,5,45, but is {words!r}.")
    return counts


def _show(advice: FreeRiderAdvice, data: str) -> None:
    title = f"{data}: {advice.clients:,} honest clients, free-riders claim {advice.claimed:,.6g} rows each"
    show_rows([_row(report) for report in advice.reports], title)
    console.print(_LEGEND, style="dim", highlight=False)
    console.print(
        f"Without free-riders a round leaves {advice.fair_contraction:.3g} of the distance; honest clients' "
        f"uploads spread by {advice.amplitude:.3g} in each coordinate.",
        highlight=False,
    )
    for sign in advice.signs:
        kind, words = sign.split(": ", 1)
        console.print(f"[bold]{kind}[/bold]: {escape(words)}", highlight=False)
    reasons = escape(" ".join((*advice.reasons, *advice.warnings)))
    console.print(
        f"\n[bold]{advice.doubling:,} free-riders double the number of rounds.[/bold] {reasons}",
        highlight=False,
    )


def _row(report: FreeRiderReport) -> dict[str, str]:
    return {
        "free-riders": f"{report.free_riders:,}",
        "weight": f"{report.share:.1%}",
        "left": f"{report.contraction:.4f}",
        "slower": f"{report.slow_down:.3g}",
        "V plain": f"{report.variance:.3g}",
        "V noise": f"{report.disguised_variance:.3g}",
        "printed": f"{report.printed_variance:.3g}",
    }
