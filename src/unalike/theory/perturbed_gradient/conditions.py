"""Step-size conditions of the theorems on FedProx and perturbed gradients.

Buttaci, Does Perturbation Aid Convergence? (MSc thesis, Politecnico di Torino). FedProx keeps the part
1 - gamma alpha of a model in a step, so nothing is proved beyond

    gamma <= 1 / alpha.
"""

from __future__ import annotations

import math

from .problem import Method, Problem, Proximal, effective_smoothness


def longest_step(method: Method, problem: Problem) -> float:
    """The longest fixed step of the one-round contraction, for strongly convex losses.

    >>> longest_step(Proximal(9.0), Problem(smoothness=4.0, convexity=1.0))
    0.1
    """
    pull = (
        method.alpha + problem.convexity if isinstance(method, Proximal) else method.beta * problem.convexity
    )
    return min(1 / (2 * problem.smoothness), 1 / pull if pull else math.inf)


def longest_first_step(method: Method, problem: Problem, local_steps: int) -> float:
    """The longest first one of diminishing steps v / (tau + t)."""
    return longest_step(method, problem) / local_steps


def longest_nonconvex_step(method: Method, problem: Problem) -> float:
    """The longest step where losses need not be convex."""
    if isinstance(method, Proximal) and method.alpha:
        return min(1 / problem.smoothness, 1 / (2 * method.alpha))
    return 1 / problem.smoothness


def theorem_step(method: Method, problem: Problem, local_steps: int) -> float:
    """The fixed step of the strongly convex theorem, 1 / (2 (L + alpha) E).

    >>> theorem_step(Proximal(0.0), Problem(smoothness=1.0), 10)
    0.05
    """
    return 1 / (2 * effective_smoothness(method, problem.smoothness) * local_steps)


def diminishing_schedule(method: Method, problem: Problem, local_steps: int) -> tuple[float, float]:
    """(v, tau) of the strongly convex theorem's steps v / (tau + t)."""
    smoothness = effective_smoothness(method, problem.smoothness)
    return 4 / (problem.convexity * local_steps), 8 * smoothness / problem.convexity
