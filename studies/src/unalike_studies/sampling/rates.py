"""Claims on convergence rates of multinomial and clustered sampling.

Fraboni, Vidal, Kameni and Lorenzi, "Clustered Sampling: Low-Variance and Improved Representativity for
Clients Selection in Federated Learning" (2021) and "A General Theory for Client Sampling in Federated
Learning" (2022).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unalike.participation import ClusteredBySize, Full
from unalike.theory.sampling.bound import Problem, asymptotic_rate, convergence_bound
from unalike.theory.sampling.gradient_noise import (
    clustered_noise,
    multinomial_noise,
    published_rate,
    published_step,
)
from unalike.theory.sampling.quadratic import local_progress

from ..study import Claim, at_most

DRAWN, LOCAL_STEPS = 2, (1, 4, 16, 64)


def rate_claims(quick: bool = False) -> Iterator[Claim]:
    """CS-20 and CS-21."""
    yield from _noise_claims(20 if quick else 50)
    yield _full_participation()
    yield from _growth_claims()


def _noise_claims(draws: int) -> Iterator[Claim]:
    rng, ratios = np.random.default_rng(20), []
    for _ in range(draws):
        sizes = rng.integers(1, 100, 20)
        p, gradients = sizes / sizes.sum(), rng.normal(size=(20, 4))
        clusters = ClusteredBySize(per_round=5, sizes=sizes).matrix(p)
        ratios.append(clustered_noise(p, gradients, clusters) / multinomial_noise(p, gradients, 5))
    words = f"B_Cl over B_MD, {draws} draws of sizes and gradients"
    yield at_most("CS-20", words, ratios, 1 + 1e-12, published="at most one", place="equation (B.18)")


def _full_participation() -> Claim:
    ratios = []
    for steps in (1, 2, 10, 100):
        rate = published_step(20, steps, 10_000)
        problem = Problem(
            learning_rate=rate, local_steps=steps, rounds=10_000, gradient_variance=1.0, dissimilarity=1.0
        )
        p = np.random.default_rng(steps).dirichlet(np.ones(20))
        bound = convergence_bound(Full().statistics(p), problem)
        ratios.append(bound.orders.total / asymptotic_rate(p, problem).total)
    words = "Theorem 2.1 for full participation at eta = sqrt(m / (K T)) over the printed rate"
    return at_most("CS-20", words, ratios, 1 + 1e-12, published="the same order", place="section A.2.5")


def _growth_claims() -> Iterator[Claim]:
    """Ten clients of two kinds with quadratic losses and full gradients: all constants are one."""
    p, kinds = np.full(10, 0.1), np.repeat([-1.0, 1.0], 5)
    noises = {
        "md": ("Theorem 3.1", multinomial_noise(p, kinds, DRAWN)),
        "perfect clusters": ("Theorem 3.2", clustered_noise(p, kinds, np.kron(np.eye(2), np.full(5, 0.2)))),
    }
    for name, (place, noise) in noises.items():
        noisy, ratios = noise > 1e-9, [_over_rate(noise, steps) for steps in LOCAL_STEPS]
        yield at_most(
            "CS-21",
            f"mean squared gradient of {name} over 1 / sqrt(m N T) + m N / T: growth from N = 1 to 64",
            [ratios[-1] / ratios[0]],
            2.0,
            hard=not noisy,
            published="bounded",
            place=place,
            note="its noise is of the order N / sqrt(m N T); the rate holds for each N" if noisy else "",
        )


def _over_rate(noise: float, steps: int) -> float:
    """The mean of E |theta|^2 over rounds from theta = 1, by its exact recursion, over the published rate."""
    rounds = 1000 * (DRAWN * steps) ** 3
    step = local_progress(published_step(DRAWN, steps, rounds), steps)
    factor = (1 - step) ** 2
    settled = step**2 * noise / (1 - factor)
    transient = (1 - settled) * (1 - factor**rounds) / (rounds * (1 - factor))
    return (settled + transient) / published_rate(DRAWN, steps, rounds)
