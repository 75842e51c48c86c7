"""Claims on weights of rows, rounds and clients, on targets, and on what optimal weights assume.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023), sections 4 and 5: rows weighed by
1 / tau, the rounds in which they are in memory; the split of rows by f = N_hist / N; importances for target
weights alpha; the record of a run; and a capacity above one batch, for which the bound is not derived.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import scipy

from unalike.data import Federation, load
from unalike.data.streams import MemoryStream, row_importance
from unalike.data.streams.optimal_importance import historical_share, phi
from unalike.data.streams.realized_weights import effective_samples, gradient_variability
from unalike.data.streams.target_importance import Tradeoff, general_importance
from unalike.typing import Bools, Float64s

from ..study import Claim, at_most, in_order, matches
from .data import CELLS, FRACTIONS, TABLES
from .problems import points

STREAMS = (
    ("poisson:5,2", "replace"),
    ("bursts:50,10,2", "replace"),
    ("constant:5,2", "fifo:20"),
    ("poisson:5,2", "fifo:20"),
    ("poisson:5,2", "reservoir:1000"),
)
"""Arrivals and memories in which rows stay for different times, or come in batches of different sizes."""
SIZES, ROUNDS = (60, 90, 150, 120, 200, 80), 40


def weight_claims(quick: bool) -> Iterator[Claim]:
    """DS-16 to DS-20."""
    yield from lifetime_claims()
    yield from target_claims(3 if quick else 30)
    yield capacity_claim(4)
    yield from split_claims()
    yield from record_claims()


def lifetime_claims() -> Iterator[Claim]:
    """Uniform weights: all rows that arrive count the same, however irregularly they come and go."""
    clients = rows_of(SIZES)
    for arrivals, memory in STREAMS:
        words = f"{arrivals}, {memory}: N_eff / N"
        found, rival = (_effective(clients, arrivals, memory, name) for name in ("uniform", "importance"))
        note = f"with p_m / |I_m(t)| for every row: {rival:.3f}"
        how = "lambda_j = 1 / tau_j"
        yield matches("DS-16", f"uniform, {words}", found, 1.0, 1e-6, derivation=how, note=note)


def rows_of(sizes: tuple[int, ...]) -> Federation:
    """Clients with so many rows, of which nothing matters but their number."""
    owners = np.repeat(np.arange(len(sizes)), sizes)
    return Federation.from_owners(np.zeros((len(owners), 1)), np.zeros(len(owners)), owners, classes=None)


def _effective(clients: Federation, arrivals: str, memory: str, weights: str) -> float:
    stream = MemoryStream(arrivals, memory, weights)
    stream.begin(clients, 1, ROUNDS)
    return stream.run_weights(range(ROUNDS)).fraction


def target_claims(count: int) -> Iterator[Claim]:
    """Importances for another target are not worse than a general solver's, and go to the target."""
    worse = []
    for seed in range(count):
        shares, fresh, tradeoff, target = draw_target(seed)
        found = general_importance(shares, fresh, target, tradeoff.terms)
        least = least_by_slsqp(shares, fresh, tradeoff, target)
        worse.append(float(phi(found, shares, fresh, target, tradeoff.terms)) - least)
    note = f"{count} random federations"
    yield at_most("DS-17", "any target: phi of the solver above SLSQP's", worse, 1e-7, note=note)
    shares, fresh, _, _ = draw_target(0)
    alike = np.full(len(shares), 1 / len(shares))
    near = [
        -float(np.abs(general_importance(shares, fresh, alike, Tradeoff(0.5, part).terms) - alike).sum())
        for part in (0.0, 0.2, 0.4, 0.6, 0.8)
    ]
    line = "target equal: minus the distance from it, as the discrepancy's part of c2 grows"
    yield in_order("DS-17", line, near, slack=1e-9)


def draw_target(seed: int) -> tuple[Float64s, Bools, Tradeoff, Float64s]:
    """Shares of rows, who is fresh, constants, and target weights."""
    rng = np.random.default_rng(seed)
    kept, passing = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    rows = rng.gamma(1.0, size=kept + passing) + 0.05
    tradeoff = Tradeoff(float(10 ** rng.uniform(-1, 1)), float(rng.uniform(0.1, 0.9)))
    fresh = np.arange(len(rows)) >= kept
    return rows / rows.sum(), fresh, tradeoff, rng.dirichlet(np.ones(len(rows)))


def least_by_slsqp(shares: Float64s, fresh: Bools, tradeoff: Tradeoff, target: Float64s) -> float:
    """The least phi that a general solver finds where the distance is written as two numbers for each client,
    p = alpha + up - down, from both ends."""
    count, terms = len(shares), tradeoff.terms

    def smooth(z: Float64s) -> float:
        p = target + z[:count] - z[count:]
        squares = np.where(fresh, p**2, 0.0).sum() + 1e-24
        return float(
            terms.noise * math.sqrt(squares)
            + terms.distance * z.sum()
            + terms.samples * math.sqrt((p**2 / shares).sum())
        )

    rules = (
        {"type": "eq", "fun": lambda z: z[:count].sum() - z[count:].sum()},
        {"type": "ineq", "fun": lambda z: target + z[:count] - z[count:]},
    )
    values = []
    for start in (shares, np.where(fresh, 0.0, shares) / shares[~fresh].sum()):
        z = np.concatenate([np.maximum(start - target, 0), np.maximum(target - start, 0)])
        options = {"ftol": 1e-14, "maxiter": 300}
        found = scipy.optimize.minimize(
            smooth, z, method="SLSQP", bounds=[(0, 1)] * (2 * count), constraints=rules, options=options
        )
        p = np.maximum(target + found.x[:count] - found.x[count:], 0.0)
        values.append(float(phi(p / p.sum(), shares, fresh, target, terms)))
    return min(values)


def capacity_claim(batches: int, rounds: int = 1_000) -> Claim:
    """With capacity for several batches, gradients vary less than the bound counts."""
    gradients = np.random.default_rng(2).choice([-1.0, 1.0], (rounds, 1))
    places = np.arange(rounds)
    single = np.eye(rounds)
    several = ((places[:, None] >= places) & (places[:, None] < places + batches)) * 1.0
    several /= several.sum(axis=1, keepdims=True)
    ratio = gradient_variability(several, gradients) / gradient_variability(single, gradients)
    return matches(
        "DS-18",
        f"variability of gradients, capacity of {batches} batches over that of one (C_m = b_m)",
        ratio,
        1 / batches,
        0.05,
        derivation="variance of a mean of independent batches",
        note="the bound, derived for C_m = b_m, counts 1; training warns of it",
    )


def split_claims() -> Iterator[Claim]:
    """The f-split by the setting `historical_share`: the share of rows, and the importance that follows."""
    for fraction, cell, table in zip(FRACTIONS, CELLS["CIFAR-10"], TABLES, strict=True):
        clients = load("digits", partition="dirichlet:0.4", clients=50, historical_share=fraction, seed=0)
        sizes, words = clients.train.sizes, f"digits for CIFAR-10's images, 50 clients, f = {fraction:g}:"
        share = float(sizes[:25].sum() / sizes.sum())
        note = "whole rows, of which every client holds out a fifth"
        yield matches("DS-19", f"{words} N_hist / N", share, fraction, 0.01, place=table, note=note)
        stream = MemoryStream("spread:40,25", "replace", f"optimal:{cell.ratio}")
        stream.begin(clients, 0, 40)
        over_run = stream.run_weights(range(40)).clients
        found = float(historical_share(over_run, np.arange(50) >= 25))
        line = f"{words} what historical clients count over a run with optimal:{cell.ratio:g}"
        yield matches("DS-19", line, found, cell.historical, 0.03, place=table, note="sizes differ by a row")


def record_claims() -> Iterator[Claim]:
    """The record of a run: q(t), p_m and N_eff as they follow from what the stream selects in every round."""
    problem = points(0)
    run = problem.train_stream("fixed:0.3", "poisson:3,2", "fifo:9", seed=0)
    rounds, clients = run.metrics(), run.client_metrics()
    stream = MemoryStream("poisson:3,2", "fifo:9", "fixed:0.3", ordered=True)
    stream.begin(problem.federation, 0, problem.rounds)
    rows = row_importance(stream, problem.rounds, len(problem.federation.train.y))
    totals = np.array([stream.totals(t) for t in range(problem.rounds)])
    owners = problem.federation.train.owners
    apart = {
        "q(t), of W(t) / sum W": np.abs(rounds["round_weight"][1:] - totals.sum(axis=1) / totals.sum()).max(),
        "p_m, of the sum over its rows": np.abs(clients["stream_weight"] - np.bincount(owners, rows)).max(),
        "p_m, of sum_t q(t) p_m(t)": np.abs(
            clients["stream_weight"] - totals.sum(axis=0) / totals.sum()
        ).max(),
        "N_eff, of 1 / sum p^2, relative": abs(
            rounds["run_effective_samples"][-1] / effective_samples(rows) - 1
        ),
    }
    for words, difference in apart.items():
        line = f"the record of a run differs in {words}, by"
        yield at_most("DS-20", line, [float(difference)], 1e-6, note="poisson:3,2, fifo:9, fixed:0.3")
