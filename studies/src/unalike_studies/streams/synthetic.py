"""Claims on the synthetic data of the streams paper, with rates chosen by validation as published (DS-8).

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023), Tables 4.3 to 4.5: 200 rows, of
which ten historical clients share f and one client receives the others one by one; one full-batch step a
round. The published grid ends at 0.1, and how many local steps there were is not published; where one step a
round is too little for such rates, larger ones are tried as well, and a claim says how often the published
grid ends too early.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..shared.summaries import printed_difference
from ..study import Claim, at_most, average
from .data import CELLS, FRACTIONS, SETTINGS, TABLES, Cell
from .problems import logistic
from .tuning import RATES, Tuned, format_tuned, share_at_edge, tune

LARGER = (*RATES, 10**-0.5, 1.0, 10**0.5)
"""The published grid, and rates beyond it."""
SEEDS = 8
"""Three were published."""
OURS = f"optimal:{SETTINGS['Synthetic'].constants.ratio(1):.6g}"
"""c2/c1 by the formula: p* of the printed one would be 1 at every f, which is not what was printed."""
NAMES = ("fresh", "historical", "uniform", OURS)
Marks = dict[str, list[Tuned]]


def synthetic_claims(quick: bool) -> Iterator[Claim]:
    """Logistic regression with ten historical clients and one row a round."""
    chosen: dict[float, Marks] = {}
    for fraction, cell, table in zip(FRACTIONS, CELLS["Synthetic"], TABLES, strict=True):
        if quick and fraction == 0.2:
            continue
        marks = tuned_marks(fraction, range(2 if quick else SEEDS), RATES[-1:] if quick else LARGER)
        yield from order_claims(fraction, cell, table, marks, hard=not quick)
        chosen[fraction] = marks
    if not quick:
        yield edge_claim(chosen)


def tuned_marks(fraction: float, seeds: Sequence[int], rates: Sequence[float]) -> Marks:
    """Every strategy on every seed, with the rate that validates best there."""
    make = partial(logistic, fraction)
    return {name: [tune(make, name, rates, seed) for seed in seeds] for name in NAMES}


def order_claims(fraction: float, cell: Cell, table: str, marks: Marks, hard: bool) -> Iterator[Claim]:
    """Historical data against the others, Ours against the best of the three, and Ours against uniform."""
    words = f"synthetic, f = {fraction:g}:"
    about: dict[str, Any] = {"place": table, "hard": hard}
    if fraction < 0.5:
        theirs = printed_difference(cell.uniform, cell.only_historical)
        values = lead(marks, "uniform", "historical")
        line = f"{words} uniform above historical, points"
        yield average("DS-8", line, values, 5.0, published=theirs, note=format_tuned(marks), **about)
    else:
        theirs = printed_difference(cell.only_historical, cell.fresh)
        values = lead(marks, "historical", "fresh")
        line = f"{words} historical above fresh, points"
        yield average("DS-8", line, values, 0.0, published=theirs, note=format_tuned(marks), **about)
    best = max(NAMES[:3], key=lambda name: mean_of(marks, name))
    theirs = printed_difference(cell.ours, max(cell.fresh, cell.only_historical, cell.uniform))
    line = f"{words} Ours above the best of the three ({best}), points"
    yield average("DS-8", line, lead(marks, OURS, best), -1.0, published=theirs, **about)
    apart = abs(float(np.mean(lead(marks, OURS, "uniform"))))
    theirs = printed_difference(cell.ours, cell.uniform)
    line = f"{words} Ours and uniform are the same: mean points apart"
    yield at_most("DS-8", line, [apart], 1.0, published=theirs, place=table, hard=False)


def edge_claim(chosen: dict[float, Marks]) -> Claim:
    """How often validation rows ask for a rate beyond the published grid."""
    marks = {f"{fraction}, {name}": found for fraction, of in chosen.items() for name, found in of.items()}
    beyond = np.mean([one.rate > 1.01 * RATES[-1] for found in marks.values() for one in found])
    return Claim(
        "DS-8",
        "synthetic: choices of a rate beyond the published grid, whose largest is 0.1",
        "10^-3.5 to 10^-1",
        "none",
        f"{100 * float(beyond):.0f} %",
        bool(beyond == 0),
        hard=False,
        note=f"one step a round; {100 * share_at_edge(marks, LARGER):.0f} % lie at an end of the larger grid",
        place="section 4.3.4",
    )


def lead(marks: Marks, ours: str, other: str) -> list[float]:
    """By how many points the first is above the second, seed by seed."""
    return [a.accuracy - b.accuracy for a, b in zip(marks[ours], marks[other], strict=True)]


def mean_of(marks: Marks, name: str) -> float:
    """The mean accuracy of a strategy."""
    return float(np.mean([one.accuracy for one in marks[name]]))
