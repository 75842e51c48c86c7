"""Formulas of fair federated learning: golden values, identities, a rate, and errata."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import scipy

from unalike.algorithms import TermGroup
from unalike.algorithms.q_ffl import relative_curvature
from unalike.algorithms.shared.fair_weights import ClientGroups, choose_lambda, rank_scores
from unalike.algorithms.shared.simplex import project_simplex
from unalike.core.random import generator
from unalike.errors import ConfigError
from unalike.runs.fairness import group_measures
from unalike.theory.fairness.generalization import deviation
from unalike.typing import Float64s, Int64s

from ..study import Claim, at_least, at_most, matches
from .data import PRINTED_DISCREPANCY, THREE_GROUPS

SINGLE = 1e-5
"""Rounding of single precision."""


def theory_claims(quick: bool) -> list[Claim]:
    """G1 to G9: what can be computed without training."""
    return [
        *multiplier_claims(),
        *identity_claims(20 if quick else 200),
        *lambda_claims(),
        *baseline_claims(),
        *errata_claims(),
        *rate_claims((100, 400, 1600) if quick else (100, 400, 1600, 6400)),
    ]


def multiplier_claims() -> Iterator[Claim]:
    """Groups of 3, 5 and 2 clients with 80, 100 and 60 rows and losses 1.2, 0.7 and 1.5."""
    groups = make_groups((3, 5, 2), (80, 100, 60))
    losses = np.array([1.2, 0.7, 1.5])[list(groups.group)]
    lam = choose_lambda(groups, 0.9, None)
    counts = np.asarray(groups.multipliers(jnp.asarray(losses), lam), np.float64)
    golden = "independent NumPy program"
    largest = groups.largest_lambda()
    yield matches("G1", "largest lambda", largest, 0.0697674419, 1e-9, derivation=golden)
    off = np.abs(counts[[0, 3, 8]] - [1.0, 0.784, 1.9])
    yield at_most("G1", "error of the multipliers 1, 0.784 and 1.9", off.tolist(), SINGLE)
    weighted, direct = float(np.dot(groups.importance, counts * losses)), objective(groups, losses, lam)
    yield matches("G1", "H, from weighted losses", weighted, 1.0516279070, SINGLE, derivation=golden)
    words = "H, from differences between groups"
    yield matches("G1", words, direct, 1.0516279070, 1e-9, derivation=golden)


def identity_claims(draws: int) -> Iterator[Claim]:
    """Weighted losses are the objective, and weights are one on average, whatever the losses."""
    gaps, means, odd = [], [], []
    for seed in range(draws):
        rng = generator(seed, "identity")
        numbers = np.concatenate([np.arange(4), rng.integers(0, 4, 12)])
        groups = ClientGroups(tuple(numbers.tolist()), tuple(rng.dirichlet(np.ones(16))), tuple("abcd"))
        losses, lam = rng.exponential(size=16), choose_lambda(groups, float(rng.uniform(0, 0.99)), None)
        counts = np.asarray(groups.multipliers(jnp.asarray(losses), lam), np.float64)
        gaps.append(abs(float(np.dot(groups.importance, counts * losses)) - objective(groups, losses, lam)))
        means.append(abs(float(np.dot(groups.importance, counts)) - 1))
        odd.append(abs(float(rank_scores(groups.mean_losses(jnp.asarray(losses))).sum())))
    yield at_most("G2", "gap between both forms of the objective", gaps, SINGLE)
    yield at_most("G2", "distance of the mean multiplier from one", means, SINGLE)
    yield at_most("G2", "sum of rank scores", odd, 0)


def lambda_claims() -> Iterator[Claim]:
    """Where lambda ends, and that it is refused there."""
    femnist = make_groups((60, 100, 40), (800, 1000, 600))
    words, largest = "largest lambda of FEMNIST in three groups", femnist.largest_lambda()
    yield matches("G3", words, largest, 0.069767, 1e-6, derivation="computed from Table 2.1")
    refused = 0
    for lam in (femnist.largest_lambda(), 1.0):
        try:
            choose_lambda(femnist, 0.5, lam)
        except ConfigError as error:
            refused += f"{femnist.largest_lambda():.6g}" in str(error)
    words = "lambdas at and beyond it that are refused, with the largest named"
    yield matches("G3", words, refused, 2, 0, derivation="both that are tried")


def baseline_claims() -> Iterator[Claim]:
    """q-FFL's steps, TERM's weights and AFL's projection."""
    start, ends = np.array([1.0, 2.0]), np.array([[0.9, 1.9], [0.8, 2.1]])
    losses, golden = np.array([1.0, 0.25]), {0: (0.85, 2.0), 1: (0.92307692, 1.96153846)}
    golden[2] = (0.93430657, 1.94525547)
    off = []
    for q, expected in golden.items():
        weights = losses**q
        bent = relative_curvature(q, losses, ((start - ends) ** 2).sum(1), 0.1)
        step = start + weights @ (ends - start) / (weights @ bent)
        off.append(float(np.abs(step - expected).max()))
    yield at_most("G4", "error of q-FFL's steps for q = 0, 1 and 2", off, 1e-7)
    three = ClientGroups((0, 1, 2), (1 / 3,) * 3, ("a", "b", "c"))
    tilted = TermGroup(t=2.0, groups=three).weights(jnp.array([1.0, 0.5, 2.0])) / 3
    gap = np.abs(np.asarray(tilted) - [0.1141952, 0.0420101, 0.8437947])
    yield at_most("G4", "error of TERM's weights for t = 2", gap.tolist(), 1e-6)
    gap = np.abs(np.asarray(project_simplex(jnp.array([0.5, 0.8, -0.2]))) - [0.35, 0.65, 0.0])
    yield at_most("G4", "error of AFL's projection on the simplex", gap.tolist(), 1e-6)


def errata_claims() -> Iterator[Claim]:
    """Published numbers that do not follow from what stands beside them."""
    for method, printed in PRINTED_DISCREPANCY.items():
        found = group_measures(THREE_GROUPS[method], "abc")["discrepancy"]
        note = "max - min of the table's own accuracies"
        words = f"discrepancy of {method} in table 2.4"
        yield matches("E1", words, found, printed, 0.005, hard=False, note=note, place="Table 2.4")
    three, sizes = ClientGroups((0, 1, 2), (0.2, 0.3, 0.5), tuple("abc")), (20, 30, 50)
    scale = np.sqrt(0.5 * np.log(1 / 0.05))
    right, printed = (deviation(three, sizes, 0.0, printed=form) / scale for form in (False, True))
    words = "concentration factor by McDiarmid's inequality"
    yield matches("E2", words, right, 0.1, 1e-6, derivation="closed form")
    note = "the printed bound sums over clients where McDiarmid sums over samples"
    words, derivation = "the printed concentration factor", "Theorem 37 as printed, lambda = 0"
    yield matches("E2", words, right, printed, 1e-3, hard=False, note=note, derivation=derivation)


class LeastSquares(NamedTuple):
    """Every client's rows and targets, all clients equally large."""

    x: Float64s
    y: Float64s

    def losses(self, theta: Float64s) -> Float64s:
        """Half the mean squared error of every client."""
        return 0.5 * ((np.einsum("kni,i->kn", self.x, theta) - self.y) ** 2).mean(1)

    def gradient(self, theta: Float64s, rows: Int64s) -> Float64s:
        """Every client's gradient at its own point, on its own rows of a mini-batch."""
        pick = np.arange(len(self.x))[:, None]
        x, y = self.x[pick, rows], self.y[pick, rows]
        return np.einsum("kn,kni->ki", np.einsum("kni,ki->kn", x, theta) - y, x) / rows.shape[1]


def rate_claims(lengths: tuple[int, ...]) -> Iterator[Claim]:
    """H - H* of least squares falls like one over the number of iterations."""
    groups = ClientGroups(tuple(range(8)), (1 / 8,) * 8, tuple("abcdefgh"))
    lam = choose_lambda(groups, 0.5, None)
    for shift, name in ((0.0, "alike"), (1.0, "unlike")):
        problem = least_squares(shift)
        least = smallest_objective(problem, groups, lam)
        gaps = [descend(problem, groups, lam, steps) - least for steps in lengths]
        words = ", ".join(f"{gap:.1e}" for gap in gaps)
        yield at_least(
            "G9",
            f"how many times H - H* falls while T grows {lengths[-1] // lengths[-3]} times, clients {name}",
            [gaps[-3] / gaps[-1]],
            8.0,
            note=f"H - H* = {words} at T = {', '.join(map(str, lengths))}",
            hard=lengths[-1] == 6400,
        )


def least_squares(shift: float) -> LeastSquares:
    """Eight clients of 200 rows with ten features and noise 0.5, whose coefficients differ by `shift`."""
    rng = generator(0, "least squares")
    x = rng.normal(size=(8, 200, 10))
    teachers = rng.normal(size=10) + shift * rng.normal(size=(8, 10))
    return LeastSquares(x, np.einsum("kni,ki->kn", x, teachers) + 0.5 * rng.normal(size=(8, 200)))


def usual_step(t: int) -> float:
    """The step after so many."""
    return 4 / (t + 20)


def descend(
    problem: LeastSquares,
    groups: ClientGroups,
    lam: float,
    steps: int,
    step_at: Callable[[int], float] = usual_step,
) -> float:
    """H after so many steps, five of them between two averages, with mini-batches of ten and exact ranks.

    Args:
        problem: rows of every client.
        groups: who is in which group.
        lam: the penalty.
        steps: how many.
        step_at: the length of each.
    """
    rng, theta = generator(1, "least squares"), np.zeros(10)
    for start in range(0, steps, 5):
        scores = np.sign(np.subtract.outer(*[problem.losses(theta)] * 2)).sum(1)
        counts = 1 + lam * scores / groups.shares
        own = np.tile(theta, (8, 1))
        for t in range(start, start + 5):
            rows = rng.integers(0, 200, (8, 10))
            own = own - step_at(t) * counts[:, None] * problem.gradient(own, rows)
        theta = own.mean(0)
    return objective(groups, problem.losses(theta), lam)


def smallest_objective(problem: LeastSquares, groups: ClientGroups, lam: float) -> float:
    """H*, through smooth stand-ins of |.| that come ever closer to it."""
    theta = np.zeros(10)
    for width in 10.0 ** -np.arange(1.0, 9.0):

        def smooth(point: Float64s, width: float = width) -> float:
            losses = problem.losses(point)
            gaps = np.array([a - b for a, b in combinations(losses, 2)])
            return float(losses.mean() + lam * np.sqrt(gaps**2 + width**2).sum())

        theta = scipy.optimize.minimize(smooth, theta, method="BFGS", options={"gtol": 1e-9}).x
    return objective(groups, problem.losses(theta), lam)


def objective(groups: ClientGroups, losses: Float64s, lam: float) -> float:
    """sum_k p_k F_k + lam sum_{i<j} |L_i - L_j|, term by term."""
    numbers = np.array(groups.group)
    means = [losses[numbers == g].mean() for g in range(groups.count)]
    return float(np.dot(groups.importance, losses) + lam * sum(abs(a - b) for a, b in combinations(means, 2)))


def make_groups(clients: tuple[int, ...], rows: tuple[int, ...]) -> ClientGroups:
    """So many clients per group, with so many rows each."""
    numbers = np.repeat(np.arange(len(clients)), clients)
    sizes = np.repeat(rows, clients)
    names = tuple(f"group {g + 1}" for g in range(len(clients)))
    return ClientGroups(tuple(numbers.tolist()), tuple(sizes / sizes.sum()), names)
