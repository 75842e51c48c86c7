"""Claims on free-riders that need no training.

Fraboni, Vidal and Lorenzi, "Free-rider Attacks on Model Aggregation in Federated Learning" (2021). Where the
printed formula is not the limit, the claim says so, and what is right is checked by simulation.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unalike.theory.free_riders.contraction import contraction
from unalike.theory.free_riders.local_process import LocalProcess, local_process
from unalike.theory.free_riders.variance import variance
from unalike.typing import Float64s
from unalike_studies.theory.free_riders.simulation import (
    Problem,
    last_difference,
    predicted_difference,
    simulate,
)

from ..study import Claim, at_least, at_most, in_order, matches
from .data import PROXIMAL, VARIANCES, Cell

SIZES = np.full(5, 600.0)
KEEP, NOISE, REPLICAS, ROUNDS = 0.5, 0.1, 20_000, 400


def theory_claims(quick: bool) -> Iterator[Claim]:
    """F2 to F8."""
    yield from pathwise_claims()
    yield from variance_claims()
    yield from mean_claims()
    yield from proximal_claims()
    yield from idle_claims()
    yield from fading_claims()


def problem(cell: Cell, start: float = 0.0, **rest: object) -> Problem:
    """Five equal clients and perhaps a free-rider, as in the table of variances."""
    claimed = np.array([float(cell.claimed)] if cell.claimed else [])
    equal = np.ones(5)
    given = (SIZES, KEEP * equal, np.linspace(-1, 2, 5), NOISE * equal, claimed)
    return Problem(*given, np.full(len(claimed), cell.amplitude), start, **rest)  # type: ignore[arg-type]


def simulate_differences(cell: Cell, seed: int = 0) -> Float64s:
    """Differences of replicas after many rounds."""
    return last_difference(problem(cell), ROUNDS, REPLICAS, seed)


def pathwise_claims() -> Iterator[Claim]:
    """Theorem 6.1 on every path, for unlike clients and two free-riders."""
    rng = np.random.default_rng(0)
    for name, mu in (("FedAvg", 0.0), ("FedProx, mu = 1", 1.0)):
        sizes = rng.integers(100, 900, 5).astype(float)
        local: LocalProcess = local_process(rng.uniform(0.5, 2, 5), 0.1, sizes / 20, 1.0, 100, mu)
        told = Problem(sizes, local.keep, rng.normal(size=5), local.noise, sizes[:2], np.full(2, 0.1), 2.0)
        paths = simulate(told, 200, replicas=5)
        gap = np.abs(predicted_difference(told, paths) - (paths.ridden - paths.fair)).max()
        yield at_most("F2", f"{name}: difference of paths against theorem 6.1", [float(gap)], 1e-10)


def variance_claims() -> Iterator[Claim]:
    """The table of variances: what is right, what was printed, and what a simulation shows."""
    measured = {cell: float(simulate_differences(cell).var()) for cell in VARIANCES}
    for cell, found in measured.items():
        words = f"variance for M_K = {cell.claimed:g}, phi = {cell.amplitude:g}"
        right = variance(SIZES, KEEP, NOISE, [cell.claimed], cell.amplitude).total
        printed = variance(SIZES, KEEP, NOISE, [cell.claimed], cell.amplitude, form="printed").total
        expected = f"{right:.5f} ± 4 %"
        holds = abs(found - right) <= 0.04 * right and abs(printed - cell.printed) < 1e-5
        source = "Theorem 6.3" if cell.amplitude else "Theorem 6.2"
        note = f"{source} as printed gives {cell.printed}"
        note += ", erratum: it is an upper bound, not the limit" if cell.claimed else ""
        derivation = "closed form of the variance"
        yield Claim("F3", words, None, expected, round(found, 5), holds, note=note, derivation=derivation)
    worst = VARIANCES[3]
    note = f"erratum: printed {worst.printed}, correct {worst.correct}, simulated {measured[worst]:.5f}"
    over = worst.printed / measured[worst]
    yield at_least("F4", "printed variance over the simulated one, M_K = 27,000", [over], 5.0, note=note)
    plain = [measured[cell] for cell in reversed(VARIANCES[:4])]
    yield in_order(
        "F4",
        "variance falls with what plain free-riders claim (1000 V, most rows first)",
        [1000 * value for value in plain],
        published="strictly increasing",
        place="section 6.2.4",
        note="erratum: it rises only with a disguise",
    )


def mean_claims() -> Iterator[Claim]:
    """Free-riders do not move where training ends."""
    errors = []
    for seed, cell in enumerate(VARIANCES):
        apart = last_difference(problem(cell, start=2.0), 2 * ROUNDS, REPLICAS, seed + 10)
        errors.append(abs(float(apart.mean())) / (float(apart.std()) / np.sqrt(REPLICAS)))
    words, place = "mean difference after long, in standard errors, all cases", "Theorems 6.2 and 6.3"
    yield at_most("F5", words, errors, 4.0, published="0", place=place)


def proximal_claims() -> Iterator[Claim]:
    """FedProx's constants at four values of mu."""
    kept = []
    for mu, (keep, square, total) in PROXIMAL.items():
        local = local_process(1.0, 0.1, 30, 1.0, 100, mu)
        found = variance(SIZES, local.keep, local.noise, [600.0]).total
        kept.append(float(local.keep))
        words = f"FedProx, mu = {mu:g}:"
        for what, value, known, derivation in (
            ("eta'", float(local.keep), keep, "equation (6.22)"),
            ("rho'^2", float(local.noise) ** 2, square, "equation (6.21)"),
            ("variance with a plain free-rider", found, total, "closed form of the variance"),
        ):
            yield matches("F6", f"{words} {what}", value, known, 1e-3 * known, derivation=derivation)
    note = "erratum: the text says that it falls, its appendix that it rises"
    said, place = "a smaller epsilon", "section 6.2.6"
    yield in_order("F6", "eta' rises with mu", kept, published=said, place=place, note=note)


def idle_claims() -> Iterator[Claim]:
    """Where nobody is honest, nothing moves."""
    claims, start = np.array([600.0, 350.0, 50.0, 7.0]), 0.123456789
    theta = start
    for _ in range(1000):
        theta = float((claims / claims.sum()) @ np.full(len(claims), theta))
    gap = abs(theta - start) / start
    words = "only plain free-riders: relative change after 1,000 rounds"
    yield at_most("F7", words, [gap], 1e-12, published="0", place="section 6.2.4")


def fading_claims() -> Iterator[Claim]:
    """Noise that fades leaves no difference."""
    values = []
    for cell in VARIANCES[1:]:
        told = problem(cell, noise_fades=_over_round, disguise_fades=_over_round)
        left = contraction(SIZES, KEEP, cell.claimed)
        rounds = int(50 / (1 - left.ridden))
        constant = variance(SIZES, KEEP, NOISE, [cell.claimed], cell.amplitude).total
        values.append(float(last_difference(told, rounds, 2_000).var()) / constant)
    words = "variance with noise that fades like 1/t, over the constant one"
    yield at_most("F8", words, values, 0.01, published="0", place="Corollary 6.2")


def _over_round(t: int) -> float:
    return 1 / max(t, 1)
