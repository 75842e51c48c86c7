"""Contraction per round towards the optimum, exact and as bounded.

Buttaci, Does Perturbation Aid Convergence? (MSc thesis, Politecnico di Torino): with E local steps of length
gamma on strongly convex losses, E|w' - w*|^2 <= kappa E|w - w*|^2 + noise, where

    kappa = (alpha + mu (1 - gamma (alpha + mu))^E) / (alpha + mu)          FedProx
    kappa = 1 - 1/beta + (1 - beta mu gamma)^E / beta                       perturbed gradients

The theorems replace kappa by something larger, and it is that which promises a speed-up of 3 / (2 + beta);
that of kappa itself vanishes as 1 + O(mu / L).
"""

from __future__ import annotations

import math

from .conditions import theorem_step
from .drift import published_factor, tightened_factor
from .problem import Method, Problem, Proximal, effective_smoothness


def exact_contraction(method: Method, convexity: float, step: float, local_steps: int) -> float:
    """kappa for curvature `convexity` (mu).

    >>> round(exact_contraction(Proximal(), 1.0, 0.05, 10), 6)
    0.598737
    """
    if isinstance(method, Proximal):
        pulled = method.alpha + convexity
        return (method.alpha + convexity * (1 - step * pulled) ** local_steps) / pulled if pulled else 1.0
    return 1 - 1 / method.beta + (1 - method.beta * convexity * step) ** local_steps / method.beta


def published_contraction(method: Method, problem: Problem) -> float:
    """What the theorem with a fixed step says: 1 - mu / (3 (L + alpha)), or 1 - mu / ((beta + 2) L).

    >>> published_contraction(Proximal(1.0), Problem(smoothness=1.0, convexity=1.0)).__round__(6)
    0.833333
    """
    times = 3.0 if isinstance(method, Proximal) else method.beta + 2
    return 1 - problem.convexity / (times * effective_smoothness(method, problem.smoothness))


def sharper_contraction(method: Method, problem: Problem) -> float:
    """What the proofs give before rounding: 1 - mu / (3 alpha + 2L + mu), or 1 - mu / (beta mu + 2L)."""
    extra = (
        3 * method.alpha + problem.convexity
        if isinstance(method, Proximal)
        else method.beta * problem.convexity
    )
    return 1 - problem.convexity / (extra + 2 * problem.smoothness)


def theorem_contraction(method: Method, problem: Problem, local_steps: int) -> float:
    """kappa with the step of the theorem, 1 / (2 (L + alpha) E)."""
    return exact_contraction(
        method, problem.convexity, theorem_step(method, problem, local_steps), local_steps
    )


def least_contraction(method: Method, convexity: float) -> float:
    """What a round leaves of the distance at least, on the problem of the lower bounds (curvatures mu and
    mu / 2, steps of at most 1 / (E (alpha + mu)), two or more of them): 1 - 3 mu / (4 (alpha + mu)), or
    beta / 4. Of the gap it leaves the square.

    >>> least_contraction(Proximal(), 0.5), least_contraction(Proximal(1.5), 0.5)
    (0.25, 0.8125)
    """
    if isinstance(method, Proximal):
        return 1 - 3 * convexity / (4 * (method.alpha + convexity))
    return method.beta / 4


def speed_up(kappa: float, kappa_of_fedavg: float) -> float:
    """Rounds of FedAvg for every round with contraction kappa.

    >>> speed_up(0.25, 0.5)
    2.0
    """
    return math.log(kappa) / math.log(kappa_of_fedavg)


def round_noise(
    method: Method, problem: Problem, step: float, local_steps: int, tightened: bool = False
) -> float:
    """What a round of fixed steps adds to the squared distance; `tightened` uses the drift without
    1 / beta^2."""
    steps, g2 = local_steps, problem.squared_gradient
    common = steps * problem.squared_weights * problem.gradient_variance
    common += 6 * problem.smoothness * steps * problem.heterogeneity
    if isinstance(method, Proximal):
        return step**2 * (common + 8 * steps**3 * g2)
    factor = (tightened_factor if tightened else published_factor)(method.beta)
    mixed = problem.convexity * step**3 * method.beta * (1 - method.beta) * steps**3 * g2
    return step**2 * (common + 8 * steps**3 * g2 * factor) + mixed
