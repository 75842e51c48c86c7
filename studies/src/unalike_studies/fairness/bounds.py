"""Theorems of GIFAIR against what can be computed: convergence on least squares, and generalization.

Constants are measured on the problem: curvatures of the clients' losses, squared mini-batch gradients at the
first model and at the optimum without penalty, and what their own optima would save. Ranks are exact and
change from round to round, so that the corrected bound, which is proved for ranks that stay, is tried beyond
its proof.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy

from unalike.algorithms.shared.fair_weights import ClientGroups, choose_lambda
from unalike.core.random import generator
from unalike.theory.fairness.generalization import generalization_bound
from unalike.theory.fairness.problem import FairProblem
from unalike.theory.fairness.strongly_convex import corrected_bound, published_bound, theorem_schedule
from unalike.typing import Float64s, Keywords

from ..study import Claim, at_least, at_most
from .theory import LeastSquares, descend, least_squares, objective, smallest_objective

RHO, LOCAL_STEPS, BATCH = 0.5, 5, 10
CHANCES, SIZES, SHARES = (0.3, 0.6, 0.5), (20, 30, 50), (0.2, 0.3, 0.5)
DELTA, DRAWS = 0.05, 20_000


def bound_claims(quick: bool) -> Iterator[Claim]:
    """G10: convergence, as printed and corrected; G11: generalization."""
    yield from convergence_claims((100, 400, 1600) if quick else (100, 400, 1600, 6400))
    yield from generalization_claims()


def convergence_claims(lengths: tuple[int, ...]) -> Iterator[Claim]:
    """Theorem 8 on least squares of eight clients that differ, with the theorem's own steps."""
    groups = ClientGroups(tuple(range(8)), (1 / 8,) * 8, tuple("abcdefgh"))
    lam, data = choose_lambda(groups, RHO, None), least_squares(1.0)
    problem, optimum = measured_problem(data)
    schedule, first = theorem_schedule(problem), float(optimum @ optimum)
    least = smallest_objective(data, groups, lam)
    gaps = [descend(data, groups, lam, steps, schedule.step) - least for steps in lengths]
    right = [corrected_bound(problem, steps, first) for steps in lengths]
    note = f"H - H* = {_words(gaps)} and bounds {_words(right)} at T = {', '.join(map(str, lengths))}"
    words = "H - H* over the bound of Theorem 8, corrected, with its steps; exact ranks"
    ratios = [gap / bound for gap, bound in zip(gaps, right, strict=True)]
    yield at_most("G10", words, [max(ratios)], 1.0, derivation="a bound", note=note)
    far = (10**4, 10**6, 10**8)
    falls = [corrected_bound(problem, steps, first) for steps in far]
    words = "the corrected bound at 10^4 steps over that at 10^8"
    yield at_least("G10", words, [falls[0] / falls[-1]], 1000.0, derivation="of the order of 1 / T")
    printed = [published_bound(problem, steps, first, schedule.gamma) for steps in far]
    words = "the printed bound at 10^6 steps over that at 10^8"
    yield at_least(
        *("G10", words, [printed[1] / printed[2]], 50.0),
        hard=False,
        published="O(E^2 / T)",
        place="Theorem 8, Remark 9",
        note="Gamma_max / eta grows as eta falls, so that the printed bound has a floor where clients differ",
    )


def measured_problem(data: LeastSquares) -> tuple[FairProblem, Float64s]:
    """The constants of least squares, and the optimum without penalty."""
    moments = np.einsum("kni,knj->kij", data.x, data.x) / data.x.shape[1]
    curves = np.linalg.eigvalsh(moments)
    own = np.stack([scipy.linalg.lstsq(x, y)[0] for x, y in zip(data.x, data.y, strict=True)])
    optimum = scipy.linalg.lstsq(data.x.reshape(-1, data.x.shape[2]), data.y.ravel())[0]
    best = np.array([data.losses(own[k])[k] for k in range(len(own))])
    found_at = [_gradients(data, point) for point in (np.zeros_like(optimum), optimum)]
    squares, variances = zip(*found_at, strict=True)
    found = FairProblem(
        smoothness=float(curves.max()),
        convexity=float(curves.min()),
        pressure=RHO,
        local_steps=LOCAL_STEPS,
        gradient_variance=max(variances),
        squared_gradient=max(squares),
        heterogeneity=float(data.losses(optimum).mean() - best.mean()),
        squared_weights=1 / len(own),
    )
    return found, optimum


def _gradients(data: LeastSquares, point: Float64s, draws: int = 500) -> tuple[float, float]:
    """The largest mean squared mini-batch gradient of a client at a point, and the largest variance."""
    rng, clients = generator(2, "least squares"), len(data.x)
    everywhere = np.tile(point, (clients, 1))
    batches = [rng.integers(0, data.x.shape[1], (clients, BATCH)) for _ in range(draws)]
    found = np.stack([data.gradient(everywhere, rows) for rows in batches])
    squares = (found**2).sum(-1).mean(0)
    return float(squares.max()), float((squares - (found.mean(0) ** 2).sum(-1)).max())


def generalization_claims() -> Iterator[Claim]:
    """Theorem 37 for one hypothesis, whose losses are 0 or 1: how often is it farther off than the bound?"""
    groups = ClientGroups((0, 1, 2), SHARES, tuple("abc"))
    rng = generator(3, "generalization")
    means = np.stack([rng.binomial(n, p, DRAWS) / n for n, p in zip(SIZES, CHANCES, strict=True)], -1)
    for rho in (0.0, 0.5):
        lam = choose_lambda(groups, rho, None)
        truth = objective(groups, np.array(CHANCES), lam)
        short = truth - np.array([objective(groups, one, lam) for one in means[:2000]])
        for printed in (False, True):
            bound = generalization_bound(groups, SIZES, lam, delta=DELTA, printed=printed)
            share = float((short > bound).mean())
            form = "as printed" if printed else "corrected"
            words = f"share of draws beyond the bound of Theorem 37 {form}, rho = {rho:g}"
            shown: Keywords = {"hard": not printed, "place": "Theorem 37" if printed else ""}
            shown["published"] = "probability at most delta" if printed else None
            yield at_most("G11", words, [share], DELTA, note=f"the bound is {bound:.3f}", **shown)


def _words(values: list[float]) -> str:
    return ", ".join(f"{value:.1e}" for value in values)
