"""Perturbed gradients on CIFAR-10, at the size of the thesis.

Buttaci, Does Perturbation Aid Convergence? (MSc thesis, Politecnico di Torino), figures 4.4 and 4.6: softmax
regression on a hundred clients of very unlike labels and sizes, (ci, di) = (100, 1), 15 instead of 20 rounds
to an accuracy of 0.3, and gradients so short that clipping at 10 changes nothing. Where the file has fewer
rows, so has every client; then what was published is compared but no gate. Without a file there is no claim.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..study import Claim, at_most
from .data import Images, Problem, color_images, rounds_to
from .training import arrival_order, curve_of, speed_up

VERY_UNLIKE = (100.0, 1.0)
ROUNDS, RACED = 40, ("beta 0.5", "beta 0.7", "FedAvg")
ALL_ROWS = 50_000
PUBLISHED, TABLE = "15, 18, 20", "Table 4.2, CIFAR-10 imbalanced, convex"


def color_claims(quick: bool) -> Iterator[Claim]:
    """PG-6 and PG-12 on CIFAR-10, unless there is little time."""
    data = None if quick else color_images()
    if data is not None:
        yield from race_claims(data)


def race_claims(data: Images) -> Iterator[Claim]:
    """Who is first, by how much, and what clipping at 10 does to them."""
    problem = Problem(data, *VERY_UNLIKE)
    curves = {name: curve_of(problem, name, ROUNDS) for name in RACED}
    needed = {name: rounds_to(curve, data.target) for name, curve in curves.items()}
    words = f"{data.name}, imbalanced: rounds to {data.target:g}"
    hard = len(data.train[1]) == ALL_ROWS
    yield arrival_order("PG-6", words, needed, ROUNDS, hard=hard, published=PUBLISHED, place=TABLE)
    yield speed_up(f"{data.name}, imbalanced: speed-up of beta 0.5", needed, published=1.3, place=TABLE)
    clipped = Problem(data, *VERY_UNLIKE, clip=10.0)
    for name in ("FedAvg", "beta 0.5"):
        moved = abs(float(curve_of(clipped, name, ROUNDS)[-1] - curves[name][-1]))
        words = f"{data.name}: accuracy that clipping at 10 changes, {name}, round {ROUNDS}"
        said = "practically imperceptible"
        yield at_most("PG-12", words, [moved], 0.001, published=said, place="Figure 4.6")
