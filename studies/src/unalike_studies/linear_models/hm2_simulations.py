"""Simulations of HM2: expectation propagation against central sampling."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from unalike.analytics.hierarchical import HM2
from unalike.core.random import generator
from unalike.typing import Float64s
from unalike_studies.linear_models.central_sampling import sample_population

from ..study import Claim, at_least, at_most
from .data import POPULATION_MEAN, POPULATION_VARIANCE, population

TRUTH = np.concatenate([POPULATION_MEAN, np.log(POPULATION_VARIANCE)])
LONG = 25


@cache
def fit_hm2(seed: int) -> HM2:
    """HM2 of a hundred devices after more rounds than it needs, with all that it went through."""
    return HM2(rounds=LONG).fit(population(seed)[0], keep_history=True)


def propagation_claims(quick: bool) -> Iterator[Claim]:
    """LM6: rounds until it is stable, distance to central sampling, and coverage."""
    seeds, compared = (5, 1) if quick else (20, 4)
    rounds = [float(_rounds_to_stability(fit_hm2(seed))) for seed in range(seeds)]
    yield at_most("LM6", "HM2: rounds until means stay within 0.3 deviations of the last", rounds, 10)
    gaps, ratios = [], []
    for seed in range(compared):
        model, draws = fit_hm2(seed), sample_population(population(seed)[0], 1000, seed)
        spread = draws.std(axis=0)
        gaps.append(float(np.abs((model.phi_mean - draws.mean(axis=0)) / spread).max()))
        ratios.append(np.sqrt(np.diag(model.phi_cov)) / spread)
    words = "HM2: largest distance of posterior means from central sampling, in deviations"
    yield at_most("LM6", words, gaps, 0.3)
    off = float(np.abs(np.array(ratios) - 1).max())
    yield at_most("LM6", "HM2: posterior deviations over those of central sampling, minus 1", [off], 0.1)
    covered = [_coverage(fit_hm2(seed)) for seed in range(seeds)]
    share = float(np.mean(covered))
    words = f"HM2: 90 % intervals that hold the truth, {seeds} seeds"
    holds, derivation = 0.82 <= share <= 0.96, "about the nominal level"
    yield Claim("LM6", words, None, "0.82 to 0.96", share, holds, derivation=derivation)


def participation_claims(quick: bool) -> Iterator[Claim]:
    """LM7: a fifth of the devices per round."""
    gaps = []
    for seed in range(1 if quick else 3):
        some = HM2(rounds=60, patience=100).fit(population(seed)[0], per_round=20, seed=seed)
        spread = np.sqrt(np.diag(fit_hm2(seed).phi_cov))
        gaps.append(float(np.abs((some.phi_mean - fit_hm2(seed).phi_mean) / spread).max()))
    yield at_most("LM7", "HM2, 20 % of devices a round: distance after 60 rounds, in deviations", gaps, 0.3)


def newcomer_claims(quick: bool) -> Iterator[Claim]:
    """LM9: devices that were never seen."""
    model, rng = fit_hm2(0), generator(0, "new devices")
    errors = []
    for theta in POPULATION_MEAN + np.sqrt(POPULATION_VARIANCE) * rng.normal(size=(250, 4)):
        x = rng.normal(size=(4, 4))
        y = x @ theta + rng.normal(size=4)
        starts = (model.params, np.zeros(4), model.start_of(x, y), np.linalg.lstsq(x, y, rcond=None)[0])
        errors.append([float(np.linalg.norm(start - theta)) for start in starts])
    zero_shot, nothing, few_rows, _ = np.mean(errors, axis=0)
    alone = float(np.median(np.array(errors)[:, 3]))
    yield at_most("LM9", "new devices: error of the mean over that of zeros", [zero_shot / nothing], 0.999)
    words = "new devices, 4 rows: error of the ridge towards the mean over the median of least squares"
    yield at_most("LM9", words, [few_rows / alone], 0.999)
    yield at_least("LM9", "new devices: 4 rows help (error without over with)", [zero_shot / few_rows], 1.0)


def _means(model: HM2) -> Float64s:
    run = model.run
    assert run is not None
    kept = [run.history.state(r)["posterior"] for r in range(1, run.rounds + 1)]
    return np.array([np.linalg.solve(np.asarray(q[1]), np.asarray(q[0])) for q in kept])


def _rounds_to_stability(model: HM2) -> int:
    means = _means(model)
    spread = np.sqrt(np.diag(model.phi_cov))
    far = (np.abs(means - means[-1]) / spread).max(axis=1)
    outside = np.flatnonzero(far > 0.3)
    return int(outside[-1]) + 2 if len(outside) else 1


def _coverage(model: HM2) -> float:
    rows = np.concatenate([model.conf_int(0.9), np.log(model.variance_interval(0.9))])
    return float(np.mean((rows[:, 0] < TRUTH) & (rows[:, 1] > TRUTH)))
