"""Constants of a federation (smoothness, convexity, noise, dissimilarity) and what the bounds say for them.

Bounds of FedAvg, FedProx, perturbed gradients, client sampling and stale results all depend on a few numbers:
L, mu, the variance s2 of mini-batch gradients, their largest squared norm G^2, and how unlike clients are,

    Gamma = f(w*) - sum_i p_i f_i(w_i*),        k2 = sum_i p_i |grad f_i|^2 - |grad f|^2.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from ..participation.samplers.statistics import WeightStatistics
from ..theory.asynchrony.planner import TrainingSetup
from ..theory.perturbed_gradient import nonconvex, strongly_convex
from ..theory.perturbed_gradient.conditions import longest_nonconvex_step, longest_step
from ..theory.perturbed_gradient.problem import Method, Perturbed, Problem, Proximal
from ..theory.perturbed_gradient.stability import stability_warning
from ..theory.sampling import bound as sampling
from ..theory.sampling.dissimilarity import Dissimilarity
from ..typing import Document
from .timing_race import RaceTarget

MOST_CONDITIONING = 1e6
"""Beyond this, losses are as good as flat in some directions."""


@dataclass(frozen=True, kw_only=True)
class GradientConstants:
    """What was measured, and on how many clients."""

    clients: int
    smoothness: float
    """L."""
    smoothness_is_bound: bool
    """Whether L is proved, or only the largest curvature that was seen."""
    convexity: float
    """mu; 0 where the loss need not be convex."""
    gradient_variance: float
    """sigma^2, the largest of any client and visited model."""
    squared_gradient: float
    """G^2, the largest that was seen."""
    heterogeneity: float
    """Gamma."""
    dissimilarity: float
    """kappa^2 that goes with b^2 = 1: the largest spread of clients' gradients that was seen."""
    initial_gap: float
    """The first loss minus the least one."""
    squared_weights: float
    """The sum of squared importances."""
    optima_distance: float
    """The root mean squared distance of clients' optima from that of all, over the first model's."""
    initial_distance: float
    """D0: the squared distance of the first model from the optimum of all."""
    residual: float
    """Sigma: the clients' mean squared mini-batch gradient at the optimum of all."""
    dissimilarity_at_optimum: float | None = None
    """The least kappa^2, that of the optimum; None where it was not measured."""
    dissimilarity_growth: float = 1.0
    """b^2 that goes with it, the least that fits what was seen."""

    def problem(self) -> Problem:
        """For the theorems on FedProx and perturbed gradients."""
        shared = ("smoothness", "convexity", "gradient_variance", "squared_gradient", "heterogeneity")
        names = (*shared, "initial_gap", "squared_weights")
        return Problem(**{name: getattr(self, name) for name in names})

    def sampling_bound(
        self, statistics: WeightStatistics, learning_rate: float, local_steps: int, rounds: int
    ) -> sampling.Bound:
        """The bound on the mean squared gradient where clients are drawn with these statistics: of the pairs
        of b^2 and kappa^2 that fit, the one with the smaller bound."""
        bounds = [
            sampling.convergence_bound(
                statistics,
                sampling.Problem(
                    learning_rate=learning_rate,
                    local_steps=local_steps,
                    rounds=rounds,
                    smoothness=self.smoothness,
                    gradient_variance=self.gradient_variance,
                    dissimilarity=pair.floor,
                    dissimilarity_growth=pair.growth,
                    initial_gap=self.initial_gap,
                ),
            )
            for pair in self.dissimilarities()
        ]
        return min(bounds, key=lambda bound: (not bound.conditions, bound.total))

    def dissimilarities(self) -> list[Dissimilarity]:
        """The pairs of b^2 and kappa^2 that fit what was seen."""
        pairs = [Dissimilarity(1.0, self.dissimilarity)]
        if self.dissimilarity_at_optimum is not None and math.isfinite(self.dissimilarity_growth):
            pairs.append(Dissimilarity(self.dissimilarity_growth, self.dissimilarity_at_optimum))
        return pairs

    def timing_goal(self, target: float = 0.01) -> RaceTarget:
        """The race of timings on losses that are as curved and clients that are as unlike."""
        ratio = self.smoothness / self.convexity if self.convexity else math.inf
        return RaceTarget(
            target=target, conditioning=min(ratio, MOST_CONDITIONING), unlike=self.optima_distance
        )

    def timing_course(self, aggregations: int, local_steps: int) -> TrainingSetup:
        """For the bounds of stale results; their R is Gamma, what clients' own optima would save."""
        return TrainingSetup(
            aggregations=max(aggregations, 1),
            local_steps=local_steps,
            smoothness=self.smoothness,
            residual=self.residual,
            surrogate_gap=self.heterogeneity,
            initial_distance=self.initial_distance,
        )

    def as_dict(self) -> Document:
        """Everything, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class MethodReport:
    """What the theorems say of one method with these steps."""

    name: str
    longest_step: float
    """Up to which the theorems hold."""
    gap_bound: float | None
    """On the loss above its least value; None where losses need not be convex, infinite for longer steps."""
    gradient_bound: float
    """On the mean squared gradient."""
    note: str = ""

    def as_dict(self) -> Document:
        """Ready for JSON, where nothing is infinite."""
        found = asdict(self)
        return {name: None if value in (math.inf, None) else value for name, value in found.items()}


def report_methods(
    constants: GradientConstants,
    learning_rate: float,
    local_steps: int,
    rounds: int,
    alpha: float = 0.1,
    beta: float = 0.7,
) -> list[MethodReport]:
    """FedAvg, FedProx and perturbed gradients with these constants."""
    problem = constants.problem()
    return [
        _report(name, method, problem, learning_rate, local_steps, rounds)
        for name, method in compared_methods(alpha, beta).items()
    ]


def compared_methods(alpha: float, beta: float) -> dict[str, Method]:
    """FedAvg, FedProx and perturbed gradients by name."""
    return {
        "fedavg": Proximal(),
        f"fedprox mu={alpha:g}": Proximal(alpha),
        f"perturbed beta={beta:g}": Perturbed(beta),
    }


def _report(
    name: str, method: Method, problem: Problem, rate: float, local_steps: int, rounds: int
) -> MethodReport:
    convex = problem.convexity > 0
    gap = strongly_convex.fixed_step_bound(method, problem, rate, local_steps, rounds) if convex else None
    longest = longest_step(method, problem) if convex else longest_nonconvex_step(method, problem)
    gradient = nonconvex.gradient_bound(method, problem, [rate] * rounds, local_steps)
    beta = method.beta if isinstance(method, Perturbed) else 1.0
    note = stability_warning(beta, rate, problem.smoothness, local_steps) or ""
    return MethodReport(name, longest, gap, gradient, note)
