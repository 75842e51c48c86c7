"""Convergence bounds for strongly convex losses after t rounds.

Buttaci, Does Perturbation Aid Convergence? (MSc thesis, Politecnico di Torino). With fixed steps

    gap_t <= (L/mu) kappa^t (Delta - R) + (L/mu) R,            R = noise / (2 gamma),

and with steps v / (tau + t),  gap_t <= (L/mu) (tau Delta + R) / (tau + t). The theorems choose special steps;
these functions take any that the conditions allow. The bounds hold, but are loose by orders of magnitude,
and their order in beta is not that of the method: they are no advice for choosing it.
"""

from __future__ import annotations

import math

from ...errors import ConfigError
from .conditions import diminishing_schedule, longest_first_step, longest_step, theorem_step
from .contraction import exact_contraction, published_contraction, round_noise
from .drift import published_factor
from .problem import Method, Problem, Proximal


def fixed_step_bound(
    method: Method,
    problem: Problem,
    step: float,
    local_steps: int,
    rounds: int,
    tightened: bool = False,
) -> float:
    """The bound on the gap after so many rounds of fixed steps; infinite where the step is too long."""
    condition = _condition(problem)
    if step > longest_step(method, problem):
        return math.inf
    kappa = exact_contraction(method, problem.convexity, step, local_steps)
    floor = round_noise(method, problem, step, local_steps, tightened) / (2 * step)
    return condition * (kappa**rounds * (problem.initial_gap - floor) + floor)


def published_fixed_bound(method: Method, problem: Problem, local_steps: int, rounds: int) -> float:
    """The theorem with steps of 1 / (2 (L + alpha) E).

    >>> problem = Problem(smoothness=1.0, convexity=0.5, squared_gradient=4.0, heterogeneity=0.75)
    >>> round(published_fixed_bound(Proximal(), problem, 10, 100))
    1602
    """
    condition, step = _condition(problem), theorem_step(method, problem, local_steps)
    floor = round_noise(method, problem, step, local_steps) / (2 * step)
    return condition * (problem.initial_gap * published_contraction(method, problem) ** rounds + floor)


def diminishing_bound(
    method: Method, problem: Problem, v: float, tau: float, local_steps: int, rounds: int
) -> float:
    """The bound on the gap with steps v / (tau + t); infinite where these break a condition."""
    condition = _condition(problem)
    growth = v * problem.convexity * local_steps / 2 - 1
    allowed = growth > 0 and tau >= 1 and v / tau <= longest_first_step(method, problem, local_steps)
    if not allowed:
        return math.inf
    noise = _diminishing_noise(method, problem, local_steps)
    residue = problem.convexity * v**2 / growth * noise
    return condition * (tau * problem.initial_gap + residue) / (tau + rounds)


def published_diminishing_bound(method: Method, problem: Problem, local_steps: int, rounds: int) -> float:
    """The theorem with steps 4 / (mu E (8 (L + alpha) / mu + t))."""
    v, tau = diminishing_schedule(method, problem, local_steps)
    noise = _diminishing_noise(method, problem, local_steps)
    residue = problem.convexity * v**2 * noise
    return _condition(problem) * (tau * problem.initial_gap + residue) / (tau + rounds)


def best_local_steps(method: Method, problem: Problem) -> float:
    """The number of local steps at which the bound with diminishing steps is least."""
    if not problem.squared_gradient:
        return math.inf
    factor = 1.0 if isinstance(method, Proximal) else published_factor(method.beta, 2.0)
    noise = problem.squared_weights * problem.gradient_variance
    noise += 6 * problem.smoothness * problem.heterogeneity
    return math.sqrt(noise / (8 * factor * problem.squared_gradient))


def _diminishing_noise(method: Method, problem: Problem, local_steps: int) -> float:
    """The bracket of R; steps may have been twice as long in the round before."""
    steps, g2 = local_steps, problem.squared_gradient
    noise = steps * problem.squared_weights * problem.gradient_variance / 2
    noise += 3 * problem.smoothness * steps * problem.heterogeneity
    if isinstance(method, Proximal):
        return noise + 4 * steps**3 * g2
    factor = published_factor(method.beta, 2.0)
    mixed = problem.convexity * method.beta * (1 - method.beta) * steps**2 * g2 / (4 * problem.smoothness)
    return noise + 4 * factor * steps**3 * g2 + mixed


def _condition(problem: Problem) -> float:
    """L / mu."""
    if not problem.convexity:
        raise ConfigError("this bound is for strongly convex losses; convexity must be above 0.")
    return problem.smoothness / problem.convexity
