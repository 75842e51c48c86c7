"""Claims on intermittent availability that need no training.

Rodio, Faticanti, Marfoq, Neglia and Leonardi, "Federated Learning under Heterogeneous and Correlated Client
Availability", 2023.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unalike.participation import (
    AvailabilityContext,
    Estimated,
    Known,
    Markov,
    RoundContext,
    Unbiased,
    availability_registry,
    strategy_registry,
)
from unalike.participation.availability import from_transitions, mean_run, simulate, transition_matrix
from unalike.participation.strategies.bias import (
    bias_bound,
    bias_bound_by_variation,
    biased_importance,
    total_bound,
    total_variation,
)
from unalike.participation.strategies.ca_fed import estimated_error, subset_error
from unalike.theory.availability.mixing_rate import joint_chain, second_modulus
from unalike.typing import Bools, Float64s, Int64s

from ..study import Claim, at_least, at_most, matches


def theory_claims(quick: bool) -> Iterator[Claim]:
    """A1 to A5, A12 and A13."""
    yield from chain_claims(20_000 if quick else 200_000)
    yield from error_claims(200)
    yield from inequality_claims(50 if quick else 300)
    yield from limit_claims(20_000 if quick else 200_000)
    yield from estimator_claims(5 if quick else 20)
    yield from share_claims(2_000 if quick else 20_000)


def chain_claims(rounds: int) -> Iterator[Claim]:
    """Two-state chains: formulas, simulation, and the product of independent ones."""
    rng = np.random.default_rng(0)
    gaps = [_round_trip(rng.uniform(0.05, 0.95), rng.uniform(0.0, 0.95)) for _ in range(200)]
    yield at_most("A1", "transition probabilities give back availability and correlation", gaps, 1e-12)
    chains = availability_registry.make("groups", clients=100, seed=0)
    trace = simulate(chains, rounds)
    yield from _trace_claims(trace, chains.groups, rounds)
    products = []
    for clients in range(2, 7):
        active, correlation = rng.uniform(0.1, 0.9, clients), rng.uniform(0, 0.95, clients)
        joint = joint_chain([transition_matrix(a, c) for a, c in zip(active, correlation, strict=True)])
        products.append(abs(second_modulus(joint) - correlation.max()))
    yield at_most(
        "A2", "second eigenvalue of up to 6 independent chains is the largest of theirs", products, 1e-10
    )


def _round_trip(active: float, correlation: float) -> float:
    chain = transition_matrix(active, correlation)
    again = from_transitions(chain[0, 0], chain[1, 1])
    return float(max(abs(again[0] - active), abs(again[1] - correlation)))


def _trace_claims(trace: Bools, groups: Int64s | None, rounds: int) -> Iterator[Claim]:
    assert groups is not None
    share = 2e-2 if rounds >= 100_000 else 6e-2
    for group, expected in enumerate((0.9, 0.1, 0.1)):
        seen = float(trace[:, groups == group].mean())
        name = ("often there", "rarely there", "rarely there, in runs")[group]
        claim, how = f"availability of clients {name}", f"1/2 {'-' if group else '+'} g, published g = 0.4"
        yield matches("A1", claim, seen, expected, share * expected, derivation=how)
    runs = trace[:, groups == 2].astype(float)
    centered = runs - runs.mean(axis=0)
    correlation = float(((centered[1:] * centered[:-1]).mean(axis=0) / runs.var(axis=0)).mean())
    claim = "their correlation between rounds"
    yield matches("A1", claim, correlation, 0.9, share * 0.9, place="section 2.2.6.1")
    starts = (np.diff(runs, axis=0, prepend=0) == 1).sum()
    length = float(runs.sum() / starts)
    exact = float(mean_run(0.1, 0.9)[0])
    yield matches(
        "A1",
        "their mean run",
        length,
        11.11,
        share * 11.11,
        note=f"exactly {exact:.4f}",
        derivation="1 / ((1 - lambda) (1 - pi))",
    )


def error_claims(instances: int) -> Iterator[Claim]:
    """The estimated error: unbiased weights have none of its bias, and its closed form is exact."""
    rng = np.random.default_rng(1)
    biases, variations, errors = [], [], []
    for _ in range(instances):
        n = int(rng.integers(2, 30))
        alpha, active, gaps = rng.dirichlet(np.ones(n)), rng.uniform(0.05, 1, n), rng.exponential(size=n)
        biases.append(np.abs(biased_importance(active, alpha / active) - alpha).max())
        kept = rng.random(n) < 0.6
        kept[rng.integers(n)] = True
        weights = np.where(kept, alpha / active, 0.0)
        mass = alpha[kept].sum()
        variations.append(abs(total_variation(alpha, biased_importance(active, weights)) - (1 - mass)))
        closed = subset_error(mass, float((alpha * gaps)[kept].sum()), 0.7, gaps.max())
        errors.append(abs(estimated_error(weights, active, alpha, gaps, 0.7) - closed) / (1 + closed))
    yield at_most("A3", "weights alpha / pi count every client as it should", biases, 1e-12)
    yield at_most(
        "A3", "total variation after leaving clients out is the importance left out", variations, 1e-12
    )
    yield at_most("A3", "the estimated error equals its closed form", errors, 1e-12)


def inequality_claims(instances: int) -> Iterator[Claim]:
    """The error inequalities on random quadratics with known minimizers: how far each is from failing."""
    rng = np.random.default_rng(2)
    slack: dict[str, list[float]] = {"2.23": [], "2.24": [], "2.28": []}
    for _ in range(instances):
        for name, value in _inequalities(rng).items():
            slack[name].append(value)
    words = {
        "2.23": "F(w) - F* <= 2 kappa^2 (optimization + bias error)",
        "2.24": "bias error <= kappa^2 chi2 Gamma",
        "2.28": "bias error <= 4 kappa^2 TV^2 Gamma'",
    }
    for name, ratios in slack.items():
        yield at_most("A4", f"{words[name]}: left over right", ratios, 1 + 1e-9, note=f"{instances} problems")


def _inequalities(rng: np.random.Generator) -> dict[str, float]:
    """Left over right of the three inequalities on one random problem."""
    n, d = int(rng.integers(2, 8)), int(rng.integers(1, 4))
    factors = rng.normal(size=(n, d, d))
    hessians = np.einsum("kij,klj->kil", factors, factors) + rng.uniform(0.1, 1) * np.eye(d)
    centers = rng.normal(size=(n, d)) * rng.uniform(0.1, 3)
    alpha, active = rng.dirichlet(np.ones(n)), rng.uniform(0.05, 1, n)
    p = biased_importance(active, rng.uniform(0.05, 1, n))

    def losses(w: Float64s) -> Float64s:
        gap = w - centers
        return 0.5 * np.einsum("ki,kij,kj->k", gap, hessians, gap)

    def best(weights: Float64s) -> Float64s:
        total = np.einsum("k,kij->ij", weights, hessians)
        return np.linalg.solve(total, np.einsum("k,kij,kj->i", weights, hessians, centers))

    values = np.linalg.eigvalsh(hessians)
    condition = float(values.max() / values.min())
    w, fair, biased = rng.normal(size=d) * 3, best(alpha), best(p)
    bias = float(alpha @ (losses(biased) - losses(fair)))
    optimization = float(p @ (losses(w) - losses(biased)))
    return {
        "2.23": float(alpha @ (losses(w) - losses(fair))) / total_bound(optimization, bias, condition),
        "2.24": bias / bias_bound(alpha, p, condition, float(losses(fair).max())),
        "2.28": bias / bias_bound_by_variation(alpha, p, condition, float(losses(biased).max())),
    }


def limit_claims(rounds: int) -> Iterator[Claim]:
    """With fixed weights, descent ends at the minimizer of what weights and availability make of F."""
    n, step = 6, 0.02
    centers, alpha = np.linspace(-1, 1, n), np.full(n, 1 / n)
    active, correlation = np.array([0.9, 0.9, 0.9, 0.2, 0.2, 0.2]), np.full(n, 0.5)
    trace = simulate(Markov(active, correlation), rounds)
    span = float(np.ptp(centers))
    for words, weights in (("equal", alpha), ("alpha / pi", alpha / active)):
        w, total, counted = 0.0, 0.0, 0
        for t, here in enumerate(trace):
            w += step * float((weights * here) @ (centers - w))
            if t >= rounds // 10:
                total, counted = total + w, counted + 1
        goal = float(biased_importance(active, weights) @ centers)
        yield at_most(
            "A5",
            f"distance to the minimizer of the biased objective, weights {words} (of the clients' spread)",
            [abs(total / counted - goal) / span],
            0.03 if rounds < 100_000 else 0.01,
        )
        if words == "equal":
            distance = abs(total / counted - float(alpha @ centers)) / span
            yield at_least(
                "A5", "distance to the minimizer of the target, the same weights", [distance], 0.05
            )


def estimator_claims(repeats: int) -> Iterator[Claim]:
    """Errors of the online estimates after t rounds."""
    lengths = (10, 32, 100, 316, 1000) if repeats < 20 else (10, 32, 100, 316, 1000, 3162, 10_000)
    pilot = {10: (0.079, 0.298), 100: (0.041, 0.117), 1000: (0.014, 0.026), 10_000: (0.004, 0.008)}
    errors = np.array([_estimation_errors(seed, lengths) for seed in range(repeats)]).mean(axis=0)
    for (active, correlation), length in zip(errors, lengths, strict=True):
        if length in pilot:
            yield Claim(
                "A12",
                f"mean absolute error of availability and correlation after {length} rounds",
                "the second is larger",
                "the second is larger",
                f"{active:.3f}, {correlation:.3f}",
                bool(correlation > active),
                note="pilot: {:.3f}, {:.3f}".format(*pilot[length]),
                place="section 2.2.6.2",
            )
    slopes = np.diff(np.log(errors), axis=0) / np.diff(np.log(lengths))[:, None]
    yield at_most(
        "A12", "every longer history has smaller errors (largest exponent of t)", slopes.ravel().tolist(), 0.0
    )
    tail = np.log(errors[-1] / errors[2]) / np.log(lengths[-1] / lengths[2])
    for name, slope in zip(("availability", "correlation"), tail, strict=True):
        claim = f"exponent of t in the error of {name} after 100 rounds"
        yield matches("A12", claim, float(slope), -0.5, 0.15, derivation="error of a mean")


def _estimation_errors(seed: int, lengths: tuple[int, ...]) -> list[tuple[float, float]]:
    chains = availability_registry.make("groups", clients=100, seed=seed)
    trace, beliefs = simulate(chains, lengths[-1], seed), Estimated(100)
    errors = []
    for t, here in enumerate(trace, start=1):
        beliefs.see(here)
        if t in lengths:
            errors.append(
                (
                    float(np.abs(beliefs.active - chains.active).mean()),
                    float(np.abs(beliefs.correlation - chains.correlation).mean()),
                )
            )
    return errors


def share_claims(rounds: int) -> Iterator[Claim]:
    """Each group's part of all weight ever given, on one long trace."""
    shares = {name: group_shares(name, rounds) for name in ("unbiased", "adafed", "fedavg", "f3ast")}
    for group, expected in enumerate((0.5, 0.25, 0.25)):
        yield matches(
            "A13",
            f"share of all weight, unbiased, group {group}",
            float(shares["unbiased"][group]),
            expected,
            0.05 if rounds >= 10_000 else 0.15,
            derivation="part of the clients that are in the group",
        )
    rare = float(shares["f3ast"][1:].sum())
    yield at_least(
        "A13", "share of rarely available clients with F3AST (their importance is 0.5)", [rare], 0.5
    )
    yield at_most("A13", "the same with FedAvg", [float(shares["fedavg"][1:].sum())], 0.5)


def group_shares(name: str, rounds: int) -> Float64s:
    """How the weight that a strategy gives is shared by the three groups."""
    chains = availability_registry.make("groups", clients=100, seed=0)
    chosen = Unbiased() if name == "unbiased" else strategy_registry.make(name, per_round=None, rounds=rounds)
    beliefs, total = Known(chains.active, chains.correlation), np.zeros(100)
    for t, here in enumerate(simulate(chains, rounds)):
        total += (
            chosen.weights(AvailabilityContext(RoundContext(t, np.full(100, 0.01)), here, beliefs)) * here
        )
    assert chains.groups is not None
    return np.bincount(chains.groups, total) / total.sum()
