"""Simulations of HM1: related devices with few rows; the published cases."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from unalike.analytics.hierarchical import HM1
from unalike.analytics.hierarchical.baselines import ols_each, ridge_each
from unalike.analytics.hierarchical.prediction import device_rmse, predict_each
from unalike.core.random import generator
from unalike.typing import Float64s

from ..study import Claim, at_most, average
from .data import TABLE_3_1, correlated_devices, hm1_case
from .full_batch import Spectra, hm1_models, separate_models

ROUNDS, STEPS, RATE = 30, 20, 0.05
PRINTED_RATES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
"""Of the printed step, which is a sum over rows."""
SCENARIOS = {
    "12 of 200 rows, correlation 0.9": (20, 8, 0.9, 1.0, 12, 200, 0.3),
    "200 rows, correlation 0.9": (20, 8, 0.9, 1.0, 200, 200, 0.3),
    "12 of 200 rows, correlation 0": (20, 8, 0.0, 1.0, 12, 200, 0.3),
}


def borrowing_claims(quick: bool) -> Iterator[Claim]:
    """LM3: against least squares and ridge, at the devices with few rows."""
    known = {name: _errors(name, 1.0, quick) for name in SCENARIOS}
    estimated = {} if quick else {name: _errors(name, None, quick) for name in SCENARIOS}
    poor, rich, unrelated = SCENARIOS
    limits = (
        (poor, "OLS", 1, 0.70),
        (poor, "ridge", 2, 0.90),
        (rich, "OLS", 1, 1.05),
        (unrelated, "ridge", 2, 1.10),
    )
    for name, rival, place, limit in limits:
        ratio = float(known[name][0] / known[name][place])
        words = f"HM1 (map, once per round, noise known): error over {rival}; {name}"
        yield at_most("LM3", words, [ratio], limit)
        if quick:
            continue
        ratio = float(estimated[name][0] / estimated[name][place])
        words = f"the same with each device's own estimate of the noise; {name}"
        note = "with 4 degrees of freedom a noise estimate may be several times too large"
        yield at_most("LM3", words, [ratio], limit, hard=False, note=note if name != rich else "")


def _errors(name: str, noise: float | None, quick: bool) -> Float64s:
    """Mean errors of HM1, OLS and ridge over seeds."""
    found = []
    for seed in range(2 if quick else 5):
        design, models = correlated_devices(*SCENARIOS[name], seed)
        judged = int(SCENARIOS[name][0] * SCENARIOS[name][6])
        fitted = HM1(
            rounds=ROUNDS,
            local_steps=STEPS,
            learning_rate=RATE,
            batch_size=0,
            noise=noise,
            start="zeros",
            in_loop=False if noise else None,
        ).fit(design)
        estimates = (fitted.params, ols_each(design), ridge_each(design))
        found.append([np.linalg.norm(e - models, axis=1)[:judged].mean() for e in estimates])
    return np.mean(found, axis=0)


def convergence_claims(quick: bool) -> Iterator[Claim]:
    """LM4: random starts settle within 30 rounds, in seconds."""
    design, models, _ = hm1_case("III", 0)
    changes = []
    for seed in range(2 if quick else 5):
        history: list[Float64s] = []
        start = generator(seed, "random start").normal(size=models.shape)
        prior_rate = RATE * STEPS * 0.01 / 20
        hm1_models(Spectra.of(design), 40, STEPS, RATE, 0.1, prior_rate, start, history)
        early, late = (np.linalg.norm(history[r - 1] - models) for r in (30, 40))
        changes.append(float(abs(early - late) / late))
    yield at_most("LM4", "HM1, case III: relative change of the error from round 30 to 40", changes, 0.03)
    HM1(rounds=2).fit(design)  # compiles
    before = time.process_time()  # of this program alone, whatever else the machine does
    HM1().fit(design)
    seconds = time.process_time() - before
    words = "HM1, 100 devices, 30 rounds: processor seconds"
    yield at_most("LM4", words, [seconds], 5.0, note="compiled before")


def published_claims(quick: bool) -> Iterator[Claim]:
    """LM11: table 3.1, with averaged gradients and a rate of 0.01; as printed, with sums and the best of some
    rates, which were chosen by a search."""
    for case, (hm1, separate) in TABLE_3_1.items():
        errors = np.array([_published_case(case, seed) for seed in range(1 if quick else 5)])
        ratios = errors[:, 0] / errors[:, 2]
        words = f"table 3.1, case {case}: A-RMSE of HM1 (map) over separate fits"
        yield average(
            "LM11", words, ratios.tolist(), hm1 / separate + 0.05, most=True, hard=False,
            published=f"{hm1} against {separate}", place="Table 3.1",
            note=f"errors {errors[:, 0].mean():.3f} and {errors[:, 2].mean():.3f}; as printed (sums over "
            f"rows, best rate), HM1 has {errors[:, 1].mean():.4f} and separate fits "
            f"{errors[:, 3].mean():.4f}; noise this low leaves next to nothing to borrow",
        )  # fmt: skip


def _published_case(case: str, seed: int) -> tuple[float, float, float, float]:
    """A-RMSE of HM1 by `map` and as printed, at its best rate, and of separate fits by either steps."""
    design, models, judged = hm1_case(case, seed)
    spectra, start = Spectra.of(design), generator(seed, "random start").normal(size=models.shape)
    noise = 0.05**2 if case == "I" else 0.1**2
    by_map = 0.01 * STEPS * noise / design.federation.train.sizes
    sums = Spectra.of(design, summed=True)
    mapped = hm1_models(spectra, ROUNDS, STEPS, 0.01, 0.1, by_map, start)
    alone = separate_models(spectra, ROUNDS, STEPS, 0.01, start)
    stable = [rate for rate in PRINTED_RATES if rate * sums.values.max() < 1]
    printed = [hm1_models(sums, ROUNDS, STEPS, rate, 0.1, rate, start) for rate in stable]
    rivals = [separate_models(sums, ROUNDS, STEPS, rate, start) for rate in stable]

    def error(models: Float64s) -> float:
        return float(device_rmse(design, predict_each(design, models))[judged].mean())

    return error(mapped), min(map(error, printed)), error(alone), min(map(error, rivals))
