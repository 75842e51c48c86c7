"""Simulation of one coordinate with free-riders: both recursions, with stored noise.

Fraboni, Vidal and Lorenzi, "Free-rider Attacks on Model Aggregation in Federated Learning" (2021):

    theta'   = sum_j (M_j / M_J) (eta_j theta + (1 - eta_j) theta_j* + rho_j z_j)            without
    theta~'  = sum_j (M_j / N)   (eta_j theta~ + (1 - eta_j) theta_j* + rho_j z~_j)
               + sum_k (M_k / N) (theta~ + phi_k e_k)                                        with free-riders

and their difference, pathwise,

    theta~_t - theta_t = sum_{i<t} H^(t-i-1) (f(theta_i) + nu~_i - nu_i + disguises_i),
    f(theta) = (M_K / N) (theta - sum_j (M_j / M_J) (eta_j theta + (1 - eta_j) theta_j*)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unalike.core.random import generator
from unalike.errors import ConfigError
from unalike.theory.free_riders.contraction import contraction
from unalike.typing import Float64s

Fade = Callable[[int], float]
"""What multiplies noise in round t = 0, 1, ..."""


def steady(t: int) -> float:
    """Noise that does not fade."""
    return 1.0


@dataclass(frozen=True)
class Problem:
    """Honest clients on quadratic losses and free-riders, in one coordinate; arrays have one entry each."""

    sizes: Float64s
    keep: Float64s
    minima: Float64s
    noise: Float64s
    claimed: Float64s
    amplitude: Float64s
    start: float = 0.0
    noise_fades: Fade = steady
    disguise_fades: Fade = steady

    def __post_init__(self) -> None:
        honest = {len(np.atleast_1d(a)) for a in (self.sizes, self.keep, self.minima, self.noise)}
        if len(honest) != 1 or len(self.claimed) != len(self.amplitude):
            raise ConfigError(
                "a problem has one number per honest client, and one per free-rider, of each kind."
            )

    @property
    def share(self) -> float:
        """M_K / N."""
        claimed = float(self.claimed.sum())
        return claimed / (claimed + float(self.sizes.sum()))

    @property
    def pull(self) -> float:
        """Where honest clients alone would go, apart from theta: sum_j (M_j / M_J) (1 - eta_j) theta_j*."""
        return float(self.sizes @ ((1 - self.keep) * self.minima)) / float(self.sizes.sum())


class Paths(NamedTuple):
    """Both trainings of every replica, before the first round and after each (rounds + 1, replicas), and
    what noise added in each round (rounds, replicas)."""

    fair: Float64s
    ridden: Float64s
    fair_noise: Float64s
    ridden_noise: Float64s
    disguise: Float64s


def simulate(problem: Problem, rounds: int, replicas: int = 1, seed: int = 0) -> Paths:
    """Run both recursions, each with noise of its own, and keep everything."""
    rng = generator(seed, "free-riders")
    honest, everyone = problem.sizes.sum(), problem.sizes.sum() + problem.claimed.sum()
    left = contraction(problem.sizes, problem.keep, float(problem.claimed.sum()))
    weights, claims = problem.sizes * problem.noise, problem.claimed / everyone * problem.amplitude
    shape = (rounds, replicas)
    noises = Paths(
        np.full((rounds + 1, replicas), problem.start),
        np.full((rounds + 1, replicas), problem.start),
        np.zeros(shape),
        np.zeros(shape),
        np.zeros(shape),
    )
    fair, ridden = noises.fair, noises.ridden
    for t in range(rounds):
        fades, hides = problem.noise_fades(t), problem.disguise_fades(t)
        noises.fair_noise[t] = fades * (weights / honest) @ rng.normal(size=(len(weights), replicas))
        noises.ridden_noise[t] = fades * (weights / everyone) @ rng.normal(size=(len(weights), replicas))
        noises.disguise[t] = hides * claims @ rng.normal(size=(len(claims), replicas))
        fair[t + 1] = left.fair * fair[t] + problem.pull + noises.fair_noise[t]
        moved = left.ridden * ridden[t] + (1 - problem.share) * problem.pull
        ridden[t + 1] = moved + noises.ridden_noise[t] + noises.disguise[t]
    return noises


def predicted_difference(problem: Problem, paths: Paths) -> Float64s:
    """theta~_t - theta_t after every round, by theorem 6.1, from the training without free-riders and stored
    noise alone."""
    left = contraction(problem.sizes, problem.keep, float(problem.claimed.sum()))
    before = paths.fair[:-1]
    push = problem.share * (before - left.fair * before - problem.pull)
    added = push + paths.ridden_noise - paths.fair_noise + paths.disguise
    answer = np.zeros_like(paths.fair)
    for t in range(len(added)):
        powers = left.ridden ** np.arange(t, -1, -1.0)
        answer[t + 1] = powers @ added[: t + 1]
    return answer


def last_difference(problem: Problem, rounds: int, replicas: int, seed: int = 0) -> Float64s:
    """theta~ - theta of every replica after the last round; nothing is kept on the way."""
    rng = generator(seed, "free-riders")
    honest, everyone = problem.sizes.sum(), problem.sizes.sum() + problem.claimed.sum()
    left = contraction(problem.sizes, problem.keep, float(problem.claimed.sum()))
    total = float(np.linalg.norm(problem.sizes * problem.noise))
    hidden = float(np.linalg.norm(problem.claimed / everyone * problem.amplitude))
    fair, ridden = (np.full(replicas, problem.start) for _ in range(2))
    for t in range(rounds):  # sums of independent Gaussians are drawn as one
        fades, hides = problem.noise_fades(t), problem.disguise_fades(t)
        drawn = rng.normal(size=(3, replicas))
        fair = left.fair * fair + problem.pull + fades * total / honest * drawn[0]
        noise = fades * total / everyone * drawn[1] + hides * hidden * drawn[2]
        ridden = left.ridden * ridden + (1 - problem.share) * problem.pull + noise
    return ridden - fair
