"""Applications of a shared prior: unseen engines and robots (G9 and G10, on stand-ins).

Yue and Kontar, Federated Gaussian Process (2024): a prior learned on 60 engines predicts the other half of 40
others' rows after it has seen one half, with no training; and clients with rows of a robot arm against
networks that are personal by training (Ditto).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from unalike.analytics.gaussian_process import GaussianProcess, Kernel
from unalike.analytics.gaussian_process.committee import combine_experts
from unalike.analytics.gaussian_process.maximum_likelihood import maximize_likelihood
from unalike.analytics.gaussian_process.posterior import Posterior
from unalike.core.random import generator
from unalike.typing import Float64s
from unalike_studies.gaussian_processes.sparse import fit_sparse

from ..study import Claim, at_most, average
from .baselines import network_errors, polynomial_values, pooled_polynomial
from .data import Rows, arm_rows, federation_of, wearing_engines

FGPR, SARCOS = "2.75, 2.42, 2.20, 2.38", "Table 4.3, SARCOS"
TRAINED = 60
"""Engines that learn the prior; the others only use it."""


class EngineErrors(NamedTuple):
    """Mean errors over engines that took no part, in units of each one's deviation."""

    federated: float
    polynomial: float
    alone: float


def application_claims(quick: bool) -> Iterator[Claim]:
    """Engines and an arm."""
    yield from engine_claims(quick)
    if not quick:
        yield from arm_claims()


def engine_claims(quick: bool) -> Iterator[Claim]:
    """G9: engines that wear out, by cycles; some of them also fit a process of their own."""
    fitted = 5 if quick else 12
    found = [
        engine_errors(wearing_engines(seed), seed, own=fitted if seed == 0 else 0)
        for seed in range(1 if quick else 3)
    ]
    ratios = [one.federated / one.polynomial for one in found]
    words, said = "new engines: FGPR over pooled polynomial", "5.45 against 6.79, 5.76 against 6.55"
    place = "Table C.1, turbofans, sensors 2 and 7"
    yield average("G9", words, ratios, 0.85, most=True, published=said, place=place)
    note = "no training on these engines"
    yield at_most("G9", "new engines: FGPR over own L-BFGS", [found[0].alone], 1.05, note=note)


def arm_claims() -> Iterator[Claim]:
    """G10: two links, five clients of 200 rows, a length per input."""
    ratios, committee, sparse = [], [], []
    for seed in range(3):
        rng = generator(seed, "arm")
        clients, test = _standardize([arm_rows(200, rng) for _ in range(5)], arm_rows(500, rng), rng)
        errors, pooled = arm_errors(clients, test, seed, committee=True)
        networks = network_errors(clients, [test] * 5, ditto=True, rounds=200, seed=seed)
        ratios.append(errors / float(networks.mean()))
        committee.append(errors / pooled)
        central = fit_sparse(Kernel("matern32", 6, ard=True), clients, inducing=100)
        sparse.append(errors / _rmse(central.predict(test[0]), test[1]))
    words = "arm of two links: FGPR over Ditto's networks"
    said = f"{FGPR} against 3.01, 3.05, 2.89, 2.90"
    yield average("G10", words, ratios, 1.0, most=True, published=said, place=SARCOS)
    words = "arm of two links: FGPR over a committee of all experts (rBCM)"
    note = "the committee combines all clients' predictions; rows are dealt at random"
    said = f"{FGPR} against 2.99, 3.17, 2.62, 2.77 of DGP"
    yield average(
        "G10", words, committee, 1.0, most=True, published=said, place=SARCOS, hard=False, note=note
    )
    words = "arm of two links: FGPR over inducing points from all rows' sums (DVI)"
    note = "one function for all clients, 100 inducing places"
    said = f"{FGPR} against 2.85, 3.32, 2.57, 2.98"
    yield average("G10", words, sparse, 1.0, most=True, published=said, place=SARCOS, hard=False, note=note)


def engine_errors(engines: list[Rows], seed: int, own: int = 0) -> EngineErrors:
    """Errors on the half of every new engine's rows that it has not seen; `own` engines also fit a process
    for themselves, and `alone` is the shared prior's error over theirs."""
    rng = generator(seed, "held-out engines")
    order = rng.permutation(len(engines))
    known, new = ([engines[i] for i in part] for part in (order[:TRAINED], order[TRAINED:]))
    process = GaussianProcess(
        kernel="matern32", rounds=30, local_steps=3, batch_size=64, learning_rate=0.05, domain=(0.0, 1.0)
    ).fit(federation_of(known), seed=seed)
    degrees = {p: pooled_polynomial([(x, _scale(y, y)) for x, y in known], p) for p in range(1, 13)}
    shared: list[float] = []
    curves: dict[int, list[float]] = {p: [] for p in degrees}
    pairs: list[tuple[float, float]] = []
    for k, (x, y) in enumerate(new):
        half = rng.permutation(len(y))
        seen, unseen = half[: len(y) // 2], half[len(y) // 2 :]
        truth = _scale(y[unseen], y[seen])
        mean = _scale(process.adapt(x[seen], y[seen]).predict(x[unseen]), y[seen])
        shared.append(_rmse(mean, truth))
        for p, curve in degrees.items():
            curves[p].append(_rmse(polynomial_values(curve, x[unseen]), truth))
        if k < own:
            kernel, rows = Kernel("matern32"), (x[seen], _scale(y[seen], y[seen]))
            best = maximize_likelihood(kernel, [rows]).params
            pairs.append((shared[-1], _rmse(Posterior(kernel, best, *rows).predict(x[unseen]).mean, truth)))
    alone = float(np.divide(*np.mean(pairs, axis=0))) if pairs else np.nan
    return EngineErrors(float(np.mean(shared)), min(float(np.mean(c)) for c in curves.values()), alone)


def arm_errors(clients: list[Rows], test: Rows, seed: int, committee: bool = False) -> tuple[float, float]:
    """The mean error of clients that share a prior (a length per input), and that of a committee."""
    process = GaussianProcess(kernel="matern32", ard=True, rounds=60, batch_size=64, learning_rate=0.05).fit(
        federation_of(clients), seed=seed
    )
    x, y = test
    federated = float(np.mean([_rmse(process.predict(x, i), y) for i in range(len(clients))]))
    if not committee:
        return federated, np.nan
    experts = [process.client(i) for i in range(len(clients))]
    said = combine_experts([expert.posterior for expert in experts], experts[0].inputs.scaled(x))
    scale, shift = (float(np.mean([getattr(e.outputs, n) for e in experts])) for n in ("sd", "mean"))
    return federated, _rmse(shift + scale * said.mean, y)


def _standardize(clients: list[Rows], test: Rows, rng: np.random.Generator) -> tuple[list[Rows], Rows]:
    """Outputs of all clients with mean 0 and deviation 1, then noise of deviation 0.1; inputs likewise."""
    every = np.concatenate([y for _, y in clients])
    places = np.concatenate([x for x, _ in clients])
    low, span = places.mean(axis=0), places.std(axis=0)

    def scaled(rows: Rows) -> Rows:
        x, y = rows
        return (x - low) / span, (y - every.mean()) / every.std() + 0.1 * rng.normal(size=len(y))

    return [scaled(rows) for rows in clients], scaled(test)


def _scale(y: Float64s, by: Float64s) -> Float64s:
    return (y - by.mean()) / by.std()


def _rmse(mean: Float64s, y: Float64s) -> float:
    return float(np.sqrt(np.mean((mean - y) ** 2)))
