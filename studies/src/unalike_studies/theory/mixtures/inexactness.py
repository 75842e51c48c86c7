"""Inexact local solvers: how good must they be, and how good are they?

A solver is alpha-inexact if it leaves at most that part of what could be gained,

    alpha = (Phi(out) - min Phi) / (Phi(start) - min Phi).

For mu-strongly convex and L-smooth losses (kappa = L / mu) and clients whose gradients differ by at most
beta, sum_t w_t |grad_t|^2 <= beta^2 |sum_t w_t grad_t|^2, FedEM converges with any solvers if
alpha < 1 / (beta^2 kappa^4) (Marfoq, Neglia, Bellet, Kameni, Vidal, Federated Multi-Task Learning under a
Mixture of Distributions, 2021). Two consequences can be watched while training:

    |grad Phi(out)| <= sqrt(alpha kappa) |grad Phi(start)|                         (FedProx's inexactness)
    g(u_new) - min g <= beta^2 kappa^4 alpha (g(u) - min g)                        (the mean of surrogates)
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import jax
import numpy as np
from numpy.typing import ArrayLike

from unalike.algorithms.shared.client_data import ClientData
from unalike.algorithms.shared.solvers import Newton, Solution, Solver
from unalike.models import Task
from unalike.typing import Params, PyTree

ROUNDING = 1e-6


@dataclass(frozen=True)
class Audit:
    """What a solver left undone, and what follows from it."""

    alpha: float
    """The part of the possible gain that was left; above 1 if the solver made it worse."""
    gradient_ratio: float
    """The gradient's length after over before."""
    kappa: float
    refused: bool = False

    @property
    def gamma(self) -> float:
        """What the gradient's ratio may be at most."""
        return math.sqrt(max(self.alpha, 0.0) * self.kappa)

    @property
    def consistent(self) -> bool:
        """Whether the gradient fell as much as strong convexity promises."""
        return self.gradient_ratio <= self.gamma + ROUNDING

    def good_enough(self, beta: float) -> bool:
        """Whether the convergence theorem covers it."""
        return self.alpha < largest_alpha(self.kappa, beta)


def audit(solved: Solution, minimum: float, kappa: float) -> Audit:
    """Judge a solver's answer by the least value that its problem has."""
    room = float(solved.objective_start) - minimum
    left = float(solved.objective_end) - minimum
    ratio = float(solved.gradient_end) / max(float(solved.gradient_start), 1e-300)
    return Audit(left / room if room > 0 else 0.0, ratio, kappa, bool(solved.refused))


def audit_solver(solver: Solver, task: Task, start: PyTree, data: ClientData, kappa: float) -> Audit:
    """The same for a solver at work; the minimum is found by many Newton steps."""
    best = Newton(steps=50, damping=0.0 if task.l2 else 1e-6).solve(task, start, data, data.key)
    found = solver.solve(task, start, data, data.key)
    return audit(found, min(float(best.objective_end), float(found.objective_end)), kappa)


def largest_alpha(kappa: float, beta: float = 1.0) -> float:
    """The inexactness below which any solvers converge: 1 / (beta^2 kappa^4).

    >>> largest_alpha(2.0, 1.0)
    0.0625
    """
    return 1.0 / (beta**2 * kappa**4)


def condition_number(task: Task, params: Params, data: ClientData) -> float:
    """L / mu of the weighted problem at these parameters; infinite without strong convexity."""
    flat, back = jax.flatten_util.ravel_pytree(params)
    rows = data.all_rows()
    curvature = np.asarray(jax.hessian(lambda theta: task.loss(back(theta), rows))(flat), np.float64)
    values = np.linalg.eigvalsh(curvature)
    return float(values[-1] / values[0]) if values[0] > 1e-12 * values[-1] else math.inf


def dissimilarity(gradients: ArrayLike, weights: ArrayLike) -> float:
    """The least beta with sum_t w_t |grad_t|^2 <= beta^2 |sum_t w_t grad_t|^2; infinite at a stationary
    point that is none of the clients'.

    >>> dissimilarity([[1.0, 0.0], [1.0, 0.0]], [0.5, 0.5])
    1.0
    """
    rows, shares = np.asarray(gradients, np.float64), np.asarray(weights, np.float64)
    mean = float(np.sum((shares @ rows) ** 2))
    return math.sqrt(float(shares @ np.sum(rows**2, axis=1)) / mean) if mean > 0 else math.inf


def contraction_bound(alpha: float, kappa: float, beta: float) -> float:
    """How much of the gap of the mean surrogate a round may leave: beta^2 kappa^4 alpha."""
    return beta**2 * kappa**4 * alpha


def warn_if_uncovered(audits: list[Audit], beta: float) -> list[int]:
    """The clients whose solvers the theorem does not cover; warns, because training may work all the same."""
    uncovered = [t for t, one in enumerate(audits) if not one.good_enough(beta)]
    if uncovered:
        warnings.warn(
            f"the solvers of {len(uncovered)} of {len(audits)} clients (client {uncovered[0]} first) are "
            "less exact than the convergence theorem asks for; then it covers only equal solvers.",
            stacklevel=2,
        )
    return uncovered
