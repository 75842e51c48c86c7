"""HM1 and its rivals on engines, with settings chosen on validation rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from unalike.analytics.design import Design
from unalike.analytics.hierarchical.baselines import dis_ridge
from unalike.analytics.hierarchical.prediction import mean_rmse, predict_each
from unalike.typing import Float64s

from .full_batch import Spectra, ditto_models, fedavg_models, hm1_models, separate_models

STEPS = 20
RATES = (0.02, 0.1, 0.3)
DAMPINGS, MULTIPLES = (0.1, 0.5, 0.9), (1.0, 0.3, 0.1, 0.03)
DITTO_LAMS, RIDGE_LAMS = (0.01, 0.1, 0.5), (1e-4, 1e-3, 1e-2, 1e-1)
Fit = Callable[[], Float64s]


def race(design: Design, rounds: int, start: Float64s) -> dict[str, float]:
    """The test error (A-RMSE) of every method at its setting with the least validation error; all begin at
    the same `start`, one row per device."""
    spectra = Spectra.of(design)
    each: dict[str, list[Fit]] = {
        "HM1": [
            partial(hm1_models, spectra, rounds, STEPS, rate, damping, multiple * rate, start)
            for rate in RATES
            for damping in DAMPINGS
            for multiple in MULTIPLES
        ],
        "Separate": [partial(separate_models, spectra, rounds, STEPS, rate, start) for rate in RATES],
        "FedAvg": [partial(fedavg_models, spectra, rounds, STEPS, rate, start) for rate in RATES],
        "Ditto": [
            partial(ditto_models, spectra, rounds, STEPS, rate, start, lam)
            for rate in RATES
            for lam in DITTO_LAMS
        ],
        "Dis-Ridge": [partial(dis_ridge, design, lam) for lam in RIDGE_LAMS],
    }
    return {name: _best(design, fits) for name, fits in each.items()}


def _best(design: Design, fits: list[Fit]) -> float:
    found = [fit() for fit in fits]
    errors = [_error(design, models, "validation") for models in found]
    return _error(design, found[int(np.argmin(errors))], "test")


def _error(design: Design, models: Float64s, split: str) -> float:
    """Infinite for a setting that has diverged."""
    if not np.isfinite(models).all():
        return np.inf
    return mean_rmse(design, predict_each(design, models, split), split)
