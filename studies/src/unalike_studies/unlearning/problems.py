"""Problems on which the sensitivity bound can be checked exactly: convex, full batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from unalike.trust.unlearning.sensitivity import Ledger, contraction
from unalike.typing import Float64s

CLIENTS, SIZE, STEPS, ROUNDS = 6, 5, 3, 40
Gradient = Callable[[int, Float64s], Float64s]
"""The gradient of a client's loss."""


class ConvexProblem(NamedTuple):
    """Losses, how long steps are, and how strongly convex the losses are."""

    gradient: Gradient
    rate: float
    convexity: float
    start: Float64s


class Ratios(NamedTuple):
    """The true distance over its bound: the largest, that of the first round, and how much smaller the bound
    is than the plain one at the end."""

    worst: float
    first: float
    shrinks: float


def quadratic_problem(seed: int, ridge: float) -> ConvexProblem:
    """Random quadratics, with an L2 term."""
    rng = np.random.default_rng(seed)
    roots, targets = rng.normal(size=(CLIENTS, SIZE, SIZE)), rng.normal(size=(CLIENTS, SIZE))
    hessians = roots @ roots.transpose(0, 2, 1) / SIZE + 0.1 * np.eye(SIZE)
    values = np.linalg.eigvalsh(hessians)

    def gradient(c: int, x: Float64s) -> Float64s:
        slope: Float64s = hessians[c] @ (x - targets[c]) + ridge * x
        return slope

    rate = 1 / (values.max() + ridge)
    return ConvexProblem(gradient, float(rate), float(values.min() + ridge), rng.normal(size=SIZE))


def logistic_problem(seed: int) -> ConvexProblem:
    """Logistic regressions with steps of 2 / L."""
    rng = np.random.default_rng(seed)
    rows, labels = rng.normal(size=(CLIENTS, 12, SIZE)), rng.integers(0, 2, (CLIENTS, 12))
    smooth = max(float(np.linalg.norm(x, 2)) ** 2 / (4 * len(x)) for x in rows)

    def gradient(c: int, x: Float64s) -> Float64s:
        slope: Float64s = rows[c].T @ (1 / (1 + np.exp(-rows[c] @ x)) - labels[c]) / 12
        return slope

    return ConvexProblem(gradient, 2 / smooth, 0.0, rng.normal(size=SIZE))


def train_problem(problem: ConvexProblem, clients: list[int]) -> tuple[Float64s, Float64s]:
    """All models, and the norms of local models around their means, of federated averaging."""
    models, norms = [problem.start], []
    for _ in range(ROUNDS):
        local = []
        for c in clients:
            x = models[-1]
            for _ in range(STEPS):
                x = x - problem.rate * problem.gradient(c, x)
            local.append(x)
        models.append(np.mean(local, axis=0))
        norms.append(np.linalg.norm(np.array(local) - models[-1], axis=1))
    return np.array(models), np.array(norms)


def bound_ratios(problem: ConvexProblem, discounted: bool) -> Ratios:
    """How tight the sensitivity is, over all clients and rounds."""
    models, norms = train_problem(problem, list(range(CLIENTS)))
    share = np.full(CLIENTS, 1 / CLIENTS)
    q = contraction(problem.rate, STEPS, problem.convexity) if discounted else 1.0
    tiled = np.tile(share, (ROUNDS, 1))
    psi, plain = (Ledger(norms, tiled, share, one).sensitivity("full") for one in (q, 1.0))
    distances = np.array(
        [
            np.linalg.norm(models - train_problem(problem, [i for i in range(CLIENTS) if i != c])[0], axis=1)
            for c in range(CLIENTS)
        ]
    ).T
    ratios = distances[1:] / psi[1:]
    return Ratios(float(ratios.max()), float(ratios[0].min()), float((plain[-1] / psi[-1]).max()))


class Gap(NamedTuple):
    """Fine-tuned minus retrained model: its length, and the errors of two formulas for it."""

    distance: float
    corrected: float
    printed: float


def fine_tuning_gap(steps: int, features: int = 30, rows: int = 10) -> Gap:
    """Least squares with more features than rows, one row of which is removed after 200 steps."""
    rng = np.random.default_rng(0)
    x, y, start = rng.normal(size=(rows, features)), rng.normal(size=rows), rng.normal(size=features)
    rate = 1 / np.linalg.norm(x, 2) ** 2

    def descend(a: Float64s, b: Float64s, model: Float64s, count: int) -> Float64s:
        for _ in range(count):
            model = model - rate * a.T @ (a @ model - b)
        return model

    trained = descend(x, y, start, 200)
    tuned, again = (descend(x[1:], y[1:], model, steps) for model in (trained, start))
    power = np.linalg.matrix_power(np.eye(features) - rate * x[1:].T @ x[1:], steps)
    gap = tuned - again
    corrected, printed = power @ (trained - start), power @ trained
    lengths = [float(np.linalg.norm(v)) for v in (gap, gap - corrected, gap - printed)]
    return Gap(*lengths)
