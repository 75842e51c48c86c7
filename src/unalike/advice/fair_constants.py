"""What do the theorems on fair weights (GIFAIR) say for these clients and groups, with measured constants?"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ..algorithms.shared.fair_weights import ClientGroups, choose_lambda
from ..errors import ConfigError
from ..theory.fairness import nonconvex, strongly_convex
from ..theory.fairness.problem import FairProblem
from ..typing import Document
from .constants import GradientConstants, MethodReport


@dataclass(frozen=True, kw_only=True)
class FairReport:
    """GIFAIR with one penalty, where all clients take part, or some are drawn."""

    clients: str
    """Who takes part, in words."""
    rho: float
    lam: float
    groups: int
    longest_step: float
    """1 / (4 L (1 + rho))."""
    published_noise: float
    """xi as printed, at the step that is taken."""
    noise: float
    """xi as corrected."""
    beta: float | None
    """Of the theorem's steps beta / (gamma + t); None where losses need not be convex."""
    gamma: float | None
    schedule_bound: float | None
    """On the objective above its least value, with these steps."""

    def as_dict(self) -> Document:
        """Ready for JSON."""
        return asdict(self)


def fair_problem(constants: GradientConstants, rho: float, local_steps: int, drawn: int = 0) -> FairProblem:
    """The theorems' constants.

    Args:
        constants: what was measured.
        rho: the penalty, as a share of the largest.
        local_steps: E.
        drawn: clients of a round; all when not given.
    """
    measured = asdict(constants.problem())
    return FairProblem(**measured, pressure=rho, local_steps=local_steps, drawn=drawn)


def report_fairness(
    constants: GradientConstants,
    groups: ClientGroups,
    rho: float,
    step: float,
    local_steps: int,
    rounds: int,
    drawn: int = 0,
) -> FairReport:
    """Step condition, xi and bound of GIFAIR.

    Args:
        constants: what was measured.
        groups: who belongs to which group.
        rho: the penalty, as a share of the largest.
        step: the step that is taken.
        local_steps: E.
        rounds: how many.
        drawn: clients of a round; all when not given.
    """
    if not 0 <= rho < 1:
        raise ConfigError(f"rho must be in [0, 1), got {rho:g}.")
    problem = fair_problem(constants, rho, local_steps, drawn)
    convex = problem.convexity > 0
    schedule = strongly_convex.theorem_schedule(problem) if convex else None
    steps = rounds * local_steps
    return FairReport(
        clients=f"{drawn} drawn a round" if drawn else "all take part",
        rho=rho,
        lam=choose_lambda(groups, rho, None),
        groups=groups.count,
        longest_step=problem.longest_step,
        published_noise=strongly_convex.published_noise(problem, step),
        noise=strongly_convex.corrected_noise(problem),
        beta=None if schedule is None else schedule.beta,
        gamma=None if schedule is None else schedule.gamma,
        schedule_bound=strongly_convex.corrected_bound(problem, steps, constants.initial_distance)
        if convex
        else None,
    )


def report_gifair(
    constants: GradientConstants, rho: float, step: float, local_steps: int, rounds: int
) -> MethodReport:
    """The line of GIFAIR beside other methods: all clients, steps of one length.

    Args:
        constants: what was measured.
        rho: the penalty, as a share of the largest.
        step: the step that is taken.
        local_steps: E.
        rounds: how many.
    """
    problem, steps = fair_problem(constants, rho, local_steps), rounds * local_steps
    convex = problem.convexity > 0
    gap = None
    if convex:
        gap = strongly_convex.fixed_step_bound(problem, step, steps, constants.initial_distance)
    longest = problem.longest_step if convex else 1 / problem.smoothness
    gradient = nonconvex.gradient_bound(problem, [step] * steps)
    return MethodReport(f"gifair rho={rho:g}", longest, gap, gradient)
