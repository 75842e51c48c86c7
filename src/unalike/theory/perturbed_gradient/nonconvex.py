"""Nonconvex convergence bounds: how small do gradients become after T rounds?

Buttaci, Does Perturbation Aid Convergence? (MSc thesis, Politecnico di Torino): the mean squared gradient
over all rounds and steps, weighted by the steps' lengths gamma_t, is at most

    FedProx     ( 4 Delta/E + (2 L S s2 + 2 alpha E^2 G^2) sum gamma^2 + 8 L^2 E^2 G^2 sum gamma^3
                  + alpha^2 L E^2 G^2 sum gamma^4 / 2 ) / sum gamma
    perturbed   ( 2 Delta/E + L S s2 sum gamma^2 + 4 A L^2 E^2 G^2 sum gamma^3 ) / sum gamma

FedProx's term in alpha^2 is as published: it rests on a split of a square that is not an upper bound in
general, and is too small by at least a factor of four. At alpha = 0 and beta = 1 the two bounds speak of the
same method and differ, so comparing them compares proofs, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .conditions import longest_nonconvex_step
from .drift import published_factor
from .problem import Method, Perturbed, Problem, Proximal, effective_smoothness


def gradient_bound(method: Method, problem: Problem, steps: Sequence[float], local_steps: int) -> float:
    """The bound for any steps, one per round; infinite where one is too long.

    >>> problem = Problem(smoothness=1.0, initial_gap=1.0)
    >>> round(gradient_bound(Perturbed(0.5), problem, [0.1] * 100, 10), 6)
    0.02
    """
    gamma = np.asarray(steps, np.float64)
    if not len(gamma) or gamma.min() <= 0 or gamma.max() > longest_nonconvex_step(method, problem):
        return math.inf
    smooth, noise = problem.smoothness, problem.squared_weights * problem.gradient_variance
    reach = local_steps**2 * problem.squared_gradient
    one, two, three, four = ((gamma**power).sum() for power in (1, 2, 3, 4))
    if isinstance(method, Proximal):
        alpha = method.alpha
        total = 4 * problem.initial_gap / local_steps + (2 * smooth * noise + 2 * alpha * reach) * two
        return float((total + 8 * smooth**2 * reach * three + alpha**2 * smooth * reach * four / 2) / one)
    factor = published_factor(method.beta, float((gamma[:-1] / gamma[1:]).max(initial=1.0)))
    total = 2 * problem.initial_gap / local_steps + smooth * noise * two
    return float((total + 4 * factor * smooth**2 * reach * three) / one)


def published_fixed_bound(method: Method, problem: Problem, local_steps: int, rounds: int) -> float:
    """The theorem with steps of 1 / (2 (L + alpha) sqrt(T E))."""
    step = 1 / (2 * effective_smoothness(method, problem.smoothness) * math.sqrt(rounds * local_steps))
    return gradient_bound(method, problem, [step] * rounds, local_steps)


def published_diminishing_bound(
    method: Method, problem: Problem, local_steps: int, rounds: int, corrected: bool = True
) -> float:
    """The theorem with steps of 1 / (2 (L + alpha) sqrt(E) (t + 1)).

    For perturbed gradients the last constant is printed as 3/8; these steps, put into the lemma before it,
    give 3/2, which is `corrected`.
    """
    smooth, roots, g2 = problem.smoothness, math.sqrt(local_steps), problem.squared_gradient
    total = effective_smoothness(method, smooth)
    noise = problem.squared_weights * problem.gradient_variance
    if isinstance(method, Perturbed):
        bracket = (4 * smooth * problem.initial_gap + noise) / roots
        bracket += drift_term(method.beta, local_steps, g2, corrected)
        return bracket / math.log(rounds + 1)
    alpha = method.alpha
    pull = 2 * alpha * local_steps**1.5 / total + alpha**2 * smooth * roots / (12 * total**3)
    bracket = (8 * total * problem.initial_gap + 2 * smooth * noise / total) / roots
    return (bracket + g2 * (pull + 3 * smooth**2 * local_steps / total**2)) / math.log(rounds + 1)


def drift_term(beta: float, local_steps: int, squared_gradient: float, corrected: bool = True) -> float:
    """The last term of that theorem for perturbed gradients, printed (3/8) or corrected (3/2).

    >>> drift_term(1.0, 1, 1.0), drift_term(1.0, 1, 1.0, corrected=False)
    (6.0, 1.5)
    """
    return (3 / 2 if corrected else 3 / 8) * local_steps * squared_gradient * published_factor(beta, 2.0)


def best_local_steps(method: Perturbed, problem: Problem, rounds: int) -> tuple[float, float]:
    """The number of local steps at which the bound with fixed steps is least, and the bound there.

    r(E) = a / sqrt(T E) + b E / T is least at (a / 2b)^(2/3) T^(1/3).
    """
    a, b = _terms(method, problem)
    if not b:
        return math.inf, 0.0
    best = (a / (2 * b)) ** (2 / 3) * rounds ** (1 / 3)
    return best, 3 * 2 ** (-2 / 3) * a ** (2 / 3) * b ** (1 / 3) * rounds ** (-2 / 3)


def rounds_to(method: Method, problem: Problem, local_steps: int, target: float) -> float:
    """The order of magnitude of the rounds until the mean squared gradient is at most `target`."""
    noise = problem.squared_weights * problem.gradient_variance
    smooth, steps, g2, gap = problem.smoothness, local_steps, problem.squared_gradient, problem.initial_gap
    if isinstance(method, Perturbed):
        first = (16 * smooth**2 * gap**2 + noise**2 / 4) / (steps * target**2)
        return first + steps * g2 / target * published_factor(method.beta)
    alpha, total = method.alpha, smooth + method.alpha
    first = (64 * total**2 * gap**2 + (smooth * noise / total) ** 2) / (steps * target**2)
    pull = alpha**2 * steps**3 * g2**2 / (total * target) ** 2
    last = (alpha**2 * smooth * g2 / (16 * target)) ** (2 / 3) * steps ** (1 / 3) / total**2
    return first + pull + 2 * smooth**2 * steps * g2 / (total**2 * target) + last


def _terms(method: Perturbed, problem: Problem) -> tuple[float, float]:
    noise = problem.squared_weights * problem.gradient_variance
    a = 4 * problem.smoothness * problem.initial_gap + noise / 2
    return a, problem.squared_gradient * published_factor(method.beta)
