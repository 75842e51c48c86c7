"""Convergence of GIFAIR on strongly convex losses, as printed and corrected (Theorems 8, 10 and 15 of chapter
2 of Yue, "Federated Data Analytics: Theory and Application", 2023; proofs in its appendix A.3.3).

With steps eta_t = beta / (gamma + t), T of them, E between two averages, both forms are

    E H(theta_T) - H*   <=   L / (2 (gamma + T)) ( 4 xi / (epsilon mu)^2 + first ),      epsilon = 1 - rho,

printed      xi = 8 (E-1)^2 G^2 + 4 L Gamma_K + 2 Gamma_max / eta + 4 sum p_k^2 sigma_k^2
                                                                              (+ 4 E^2 G^2 / |S|)
corrected    xi = (1 + rho)^2 ( 8 (E-1)^2 G^2 + 6 L Gamma + sum p_k^2 sigma_k^2   (+ 4 E^2 G^2 / |S|) )

What is corrected: a client's gradient is up to 1 + rho times as long as G, which the drift and the draw of
clients do not have in print; the step of the proof that needs Gamma_max / eta, which makes eta^2 xi of the
order of eta and the rate void, is avoided by one smoothness (1 + rho) L for all clients, as for FedAvg (Li,
Huang, Yang, Wang and Zhang, "On the Convergence of FedAvg on Non-IID Data", 2020); and beta is 2 / (epsilon
mu), by Jensen's inequality: the printed 2 K / (epsilon mu) does not go with the printed bound. The corrected
bound holds for fixed ranks (no ties at the optimum), where H is smooth. The distance to the optimum is L / 2
times less.

Theorem 15 (personal models) has the same order, E^2 / T, and prints no constants.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ...errors import ConfigError
from .problem import FairProblem


class Schedule(NamedTuple):
    """Steps beta / (gamma + t)."""

    beta: float
    gamma: float

    def step(self, t: int) -> float:
        """The step after so many."""
        return self.beta / (self.gamma + t)


def theorem_schedule(problem: FairProblem) -> Schedule:
    """beta = 2 / (epsilon mu), and the least gamma with which no step is too long and none is more than twice
    that of a round later.

    >>> theorem_schedule(FairProblem(smoothness=1.0, convexity=0.5, pressure=0.5, local_steps=3))
    Schedule(beta=8.0, gamma=48.0)
    """
    beta = 2 / _convexity(problem)
    return Schedule(beta, max(beta / problem.longest_step, problem.local_steps))


def published_noise(problem: FairProblem, step: float, largest_heterogeneity: float | None = None) -> float:
    """xi as printed, with tau' where clients are drawn.

    Args:
        problem: the constants.
        step: eta, by which Gamma_max is divided.
        largest_heterogeneity: Gamma_max = sum_k p_k |H* - H_k*|; Gamma when not given, where they are equal.
    """
    if not step > 0:
        raise ConfigError(f"the step must be above 0, got {step:g}.")
    largest = problem.heterogeneity if largest_heterogeneity is None else largest_heterogeneity
    drift = 8 * (problem.local_steps - 1) ** 2 * problem.squared_gradient
    noise = 4 * problem.squared_weights * problem.gradient_variance
    unlike = 4 * problem.smoothness * problem.heterogeneity + 2 * largest / step
    return drift + unlike + noise + _draw(problem)


def corrected_noise(problem: FairProblem) -> float:
    """xi with what the proof needs: (1 + rho)^2 times that of FedAvg."""
    drift = 8 * (problem.local_steps - 1) ** 2 * problem.squared_gradient
    noise = problem.squared_weights * problem.gradient_variance
    plain = drift + 6 * problem.smoothness * problem.heterogeneity + noise + _draw(problem)
    return (1 + problem.pressure) ** 2 * plain


def published_bound(
    problem: FairProblem,
    steps: int,
    initial_distance: float,
    gamma: float,
    largest_heterogeneity: float | None = None,
) -> float:
    """Theorems 8 and 10 as printed, with the step of the last iteration in xi.

    Args:
        problem: the constants.
        steps: T.
        initial_distance: the squared distance of the first model from the optimum.
        gamma: of the schedule.
        largest_heterogeneity: Gamma_max; Gamma when not given.
    """
    beta = 2 / _convexity(problem)
    xi = published_noise(problem, beta / (gamma + steps), largest_heterogeneity)
    first = (gamma + 1) * initial_distance
    return problem.smoothness / 2 / (gamma + steps) * (4 * xi / _convexity(problem) ** 2 + first)


def distance_bound(problem: FairProblem, steps: int, initial_distance: float) -> float:
    """The mean squared distance of the model from the optimum after so many steps of the schedule."""
    gamma = theorem_schedule(problem).gamma
    noise = 4 * corrected_noise(problem) / _convexity(problem) ** 2
    return max(noise, gamma * initial_distance) / (gamma + steps)


def corrected_bound(problem: FairProblem, steps: int, initial_distance: float) -> float:
    """How far the objective is above its least value after so many steps of the schedule, corrected."""
    return problem.smoothness / 2 * distance_bound(problem, steps, initial_distance)


def fixed_step_bound(problem: FairProblem, step: float, steps: int, initial_distance: float) -> float:
    """The same with steps of one length; infinite where it is too long.

    Args:
        problem: the constants.
        step: eta.
        steps: T.
        initial_distance: the squared distance of the first model from the optimum.
    """
    if not 0 < step <= problem.longest_step:
        return math.inf
    shrink = 1 - step * _convexity(problem)
    floor = step * corrected_noise(problem) / problem.flattest
    return problem.smoothness / 2 * (shrink**steps * (initial_distance - floor) + floor)


def personal_rate(local_steps: int, steps: int) -> float:
    """E^2 / T, the order of Theorem 15 for personal models."""
    return local_steps**2 / steps


def _draw(problem: FairProblem) -> float:
    """tau', what drawing clients adds; 0 where all take part."""
    if not problem.drawn:
        return 0.0
    return 4 * problem.local_steps**2 * problem.squared_gradient / problem.drawn


def _convexity(problem: FairProblem) -> float:
    if not problem.convexity > 0:
        raise ConfigError("this bound is for strongly convex losses; convexity must be above 0, got 0.")
    return problem.flattest
