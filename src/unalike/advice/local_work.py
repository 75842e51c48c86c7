"""Best number of local steps, rounds to a small gradient, and a lower bound, from measured constants.

Buttaci, Does Perturbation Aid Convergence? (MSc thesis, Politecnico di Torino), section 4.4: the bounds are
least at some E; the mean squared gradient is at most epsilon after

    T = O( (16 L^2 Delta^2 + S^2 s^4 / 4) / (E epsilon^2) + A E G^2 / epsilon )      perturbed gradients

rounds; and on two groups of clients that pull apart, strongly convex, the gap after t rounds is at least

    min( Delta (beta/4)^(2t),  c / (t + 1)^2 )                                       perturbed gradients
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from ..errors import ConfigError
from ..theory.perturbed_gradient import nonconvex, strongly_convex
from ..theory.perturbed_gradient.contraction import least_contraction
from ..theory.perturbed_gradient.problem import Method, Perturbed, Problem
from ..typing import Document


@dataclass(frozen=True)
class LocalWork:
    """What the theorems say of one method's local work; None where they say nothing."""

    name: str
    best_local_steps: float | None
    """At which the bound is least; infinite where gradients are all zero."""
    rounds: float
    """The order of the rounds until the mean squared gradient is at most the target."""
    gap_left: float | None
    """What a round leaves of the first gap at least, in the lower bound."""
    note: str = ""
    """Why something is missing."""

    def as_dict(self) -> Document:
        """Ready for JSON, where nothing is infinite."""
        found = asdict(self)
        return {name: None if value in (math.inf, None) else value for name, value in found.items()}


def report_local_work(
    methods: dict[str, Method], problem: Problem, local_steps: int, rounds: int, target: float
) -> list[LocalWork]:
    """The best local steps, the rounds to a mean squared gradient, and the lower bound of each method.

    Args:
        methods: By the names that people read.
        problem: The constants.
        local_steps: E, for the rounds and the lower bound.
        rounds: T, on which the best local steps depend where losses need not be convex.
        target: The mean squared gradient to get to.
    """
    if not 0 < target < math.inf:
        raise ConfigError(f"the target of the mean squared gradient is {target}; it must be above 0.")
    return [_report(name, method, problem, local_steps, rounds, target) for name, method in methods.items()]


def _report(
    name: str, method: Method, problem: Problem, local_steps: int, rounds: int, target: float
) -> LocalWork:
    left, notes = None, []
    best, missing = best_local_steps(method, problem, rounds)
    if missing:
        notes.append(missing)
    if not problem.convexity:
        notes.append("the lower bound is for strongly convex losses (--l2 makes a linear model's so).")
    elif local_steps < 2:
        notes.append("the lower bound needs at least two local steps.")
    else:
        left = least_contraction(method, problem.convexity) ** 2
    reached = nonconvex.rounds_to(method, problem, local_steps, target)
    return LocalWork(name, best, reached, left, " ".join(notes))


def best_local_steps(method: Method, problem: Problem, rounds: int) -> tuple[float | None, str]:
    """Where the bound is least: with diminishing steps where losses are strongly convex, otherwise with fixed
    steps; or why that is not known.

    >>> from unalike.theory.perturbed_gradient.problem import Proximal
    >>> problem = Problem(smoothness=1.0, squared_gradient=1.0)
    >>> best_local_steps(Perturbed(1.0), problem, 8)[0] == best_local_steps(Proximal(), problem, 8)[0]
    True
    """
    if problem.convexity:
        return strongly_convex.best_local_steps(method, problem), ""
    if isinstance(method, Perturbed):
        return nonconvex.best_local_steps(method, problem, rounds)[0], ""
    if not method.alpha:  # the same method, of which perturbed gradients have the sharper bound
        return nonconvex.best_local_steps(Perturbed(1.0), problem, rounds)[0], ""
    words = "without strong convexity, FedProx's bound has no closed form for the best number of local steps."
    return None, words
