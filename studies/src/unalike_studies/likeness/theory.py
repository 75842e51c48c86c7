"""Claims on similarity graphs that need no data, for every graph and for random ones.

E. Buttaci, "Does Perturbation Aid Convergence?" (MSc thesis, Politecnico di Torino), chapter 3. Where a
printed formula counts every edge twice, the claim says so, and simulation decides.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unalike.core.random import generator
from unalike.data.similarity.graph import adjacency, degree_weights, laplacian, spectrum, variability
from unalike.data.similarity.homogeneity import homogeneity, homogeneity_of_spectrum
from unalike.data.similarity.misalignment import misalignment, pairs
from unalike.data.similarity.principal_direction import directions_of
from unalike.theory.similarity.altered_network import Alteration, homogeneity_variance, probability_of_less
from unalike.theory.similarity.simulation import simulate_change
from unalike.theory.similarity.spectral_deviation import absolute_deviation_bounds, squared_deviation_bounds
from unalike.typing import Float64s

from ..study import Claim, at_least, at_most, matches

CLIENTS, DRAWS = 30, 20_000
NETWORKS = (
    Alteration(10, 6, 0.5, 0.01),
    Alteration(20, 6, 0.7, 0.005),
    Alteration(20, 6, 0.7, 0.05, 0.5),
    Alteration(50, 6, 0.7, 0.02),
)


def theory_claims(quick: bool) -> Iterator[Claim]:
    """L1, L2 and L10."""
    yield from identity_claims()
    yield from misalignment_claims()
    yield from probability_claims(quick)
    yield from deviation_claims(quick)


def random_messages() -> Float64s:
    """Of clients with non-negative rows, some of them sparse."""
    rng = generator(0, "random messages")
    x = rng.random((10 * CLIENTS, 12)) * (rng.random((10 * CLIENTS, 12)) < 0.5)
    return directions_of(x, np.split(np.arange(len(x)), CLIENTS))[1]


def identity_claims() -> Iterator[Claim]:
    """L1: three expressions of one number, and what follows from the Laplacian."""
    weights = adjacency(misalignment(random_messages()))
    table, found, hom = laplacian(weights), spectrum(weights), homogeneity(weights)
    values = generator(0, "node vectors").normal(size=(CLIENTS, 3))
    shares, n = degree_weights(weights.sum(axis=1)), CLIENTS
    apart = np.square(values[:, None] - values[None]).sum(axis=2)
    gaps = {
        "hom is half the mean weight and a sum of eigenvalues": homogeneity_of_spectrum(found.values) / hom,
        "hom is the trace over 2 n (n - 1)": np.trace(table) / (2 * n * (n - 1)) / hom,
        "the mean non-zero eigenvalue is 2 n hom": found.values[1:].mean() / (2 * n * hom),
        "weights p_i sum to one": shares.sum(),
        "p_i is the degree over the trace": (np.diag(table) / np.trace(table) / shares).max(),
        "variability as a trace and over pairs": variability(weights, values) / (np.sum(weights * apart) / 2),
    }
    for words, ratio in gaps.items():
        yield at_most("L1", words, [abs(float(ratio) - 1)], 1e-9)
    yield at_most("L1", "L 1 = 0", [float(np.abs(table @ np.ones(n)).max() / np.trace(table))], 1e-9)
    least = float(np.linalg.eigvalsh(table)[0] / np.trace(table))
    yield at_least("L1", "no eigenvalue is negative (over the trace)", [least], -1e-9)


def misalignment_claims() -> Iterator[Claim]:
    """L2: a distance, and at most a right angle for non-negative rows."""
    messages = random_messages()
    found = misalignment(messages)
    apart = np.square(messages[:, None] - messages[None]).sum(axis=2) / 4
    gap = float(np.abs(found - apart).max())
    yield at_most("L2", "misalignment is a quarter of the squared distance", [gap], 1e-12)
    largest = float(pairs(found).max())
    yield at_most("L2", "non-negative rows: largest misalignment", [largest], 0.5)
    hom = homogeneity(adjacency(found))
    yield at_least("L2", "non-negative rows: homogeneity", [hom], float(np.log(2) / 2))


def probability_claims(quick: bool) -> Iterator[Claim]:
    """L10: which formula says how often a changed network is less homogeneous?"""
    network = NETWORKS[0]
    draws = DRAWS // 4 if quick else DRAWS
    found = simulate_change(network, draws)
    noise = 4 * float(np.sqrt(0.25 / draws))
    note = "n = 10, theta = 6, phi = 0.5, epsilon = 0.01"
    printed = probability_of_less(network, corrected=False)
    right = probability_of_less(network)
    words = "P(changed network is less homogeneous), corrected"
    yield matches("L10", words, found.probability, right, noise, note=note, derivation="closed form")
    words = "P(changed network is less homogeneous), as printed"
    gap = abs(found.probability - printed)
    yield Claim(
        "L10",
        f"{words}: simulation rejects it",
        None,
        f"farther than {noise:.2g} from {printed:.3g}",
        found.probability,
        gap > noise,
        note="an erratum: a graph is symmetric, so only half of the weights are independent",
        derivation="Proposition 3.2 as printed",
    )
    variance = found.homogeneity_variance / homogeneity_variance(network)
    words, derived = "variance of homogeneity over phi^2 / (2 n (n - 1))", "closed form of the variance"
    noise = 6 * float(np.sqrt(2 / draws))
    yield matches("L10", words, variance, 1.0, noise, note="printed: half of it", derivation=derived)


def deviation_claims(quick: bool) -> Iterator[Claim]:
    """L10: mean deviations of eigenvalues between their bounds."""
    for network in NETWORKS:
        draws = 400 if quick else 2000
        found = simulate_change(network, draws)
        change = 2 * network.clients * np.sqrt((2 + network.delta) * homogeneity_variance(network))
        noise = 4 * float(change / np.sqrt(draws))
        note = f"n = {network.clients}, epsilon = {network.epsilon}, delta = {network.delta}"
        printed = squared_deviation_bounds(network, corrected=False)
        yield from _between(
            "mean squared deviation of eigenvalues",
            found.squared_deviation,
            squared_deviation_bounds(network),
            2 * noise * found.absolute_deviation,
            f"{note}; printed {printed.lower:.3g} to {printed.upper:.4g}",
        )
        yield from _between(
            "mean absolute deviation of eigenvalues",
            found.absolute_deviation,
            absolute_deviation_bounds(network),
            noise,
            note,
        )


def _between(
    words: str, value: float, bounds: tuple[float, float], noise: float, note: str
) -> Iterator[Claim]:
    lower, upper = bounds
    expected = f"{lower:.4g} to {upper:.4g}"
    yield Claim("L10", words, None, expected, value, lower - noise <= value <= upper, note=note)
