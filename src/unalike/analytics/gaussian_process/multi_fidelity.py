"""Multi-fidelity modeling without pooling rows: levels of fidelity as clients.

Yue and Kontar, Federated Gaussian Process (2024), section on multi-fidelity modelling: every level is a
client, FGPR learns the prior that they share, and the expensive level predicts with that prior and its own
few rows. Errors are relative to the expensive level's training rows,

    error = rms(prediction - truth) / sd(y_high)

:func:`compare_methods` puts the same rows before methods that may pool them. Where levels are alike,
co-kriging usually wins by far; the federated prior is for rows that may not be pooled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Federation
from ...errors import ConfigError, unknown
from ...typing import Float64s
from ..summary import Summary, SummaryTable
from .benchmark_functions import MultiFidelityProblem
from .co_kriging import fit_co_kriging
from .kernels import Kernel
from .maximum_likelihood import Rows, maximize_likelihood
from .modular_levels import predict_modular
from .nonlinear_levels import predict_nonlinear
from .posterior import Posterior
from .regression import GaussianProcess
from .scaling import Scaled, scale_design

Levels = Mapping[str, Rows]
"""Rows and outputs of every level by its name, cheapest first."""
FEDERATED, ALONE, ALONE_BEST = "federated prior", "alone, same steps", "alone, L-BFGS"
CO_KRIGING, NONLINEAR = "co-kriging", "nonlinear co-kriging (NARGP)"
MODULAR = "modular, sparse summaries"
METHODS = (FEDERATED, ALONE, ALONE_BEST, CO_KRIGING, NONLINEAR, MODULAR)
POOLS_ROWS = (CO_KRIGING, NONLINEAR)


@dataclass(frozen=True)
class MethodComparison:
    """The error of every method, over the standard deviation of the highest level's rows."""

    errors: Mapping[str, float]

    def summary(self) -> Summary:
        """A table, and in words whether pooling wins."""
        rows = [(name, error, "yes" if name in POOLS_ROWS else "no") for name, error in self.errors.items()]
        table = SummaryTable("error over the sd of outputs", ("", "error", "pools rows"), tuple(rows))
        pooled = {name: self.errors[name] for name in POOLS_ROWS if name in self.errors}
        if not pooled or FEDERATED not in self.errors:
            return Summary("Highest level of fidelity", (), (table,))
        best = min(pooled, key=pooled.__getitem__)
        times = self.errors[FEDERATED] / pooled[best]
        words = (
            f"{best}, which pools all rows, has the smaller error, by a factor of {times:.1f}: use it where "
            "rows may be pooled."
            if times > 1
            else "The federated prior has a smaller error than methods that pool all rows, as happens where "
            "levels are not alike."
        )
        return Summary("Highest level of fidelity", (), (table,), (words,))


def draw_levels(
    problem: MultiFidelityProblem, seed: int, sizes: Sequence[int] | None = None, evenly: bool = False
) -> dict[str, Rows]:
    """Every level of a known problem at a design of its own."""
    counts = problem.sizes if sizes is None else tuple(sizes)
    if len(counts) != len(problem.levels):
        raise ConfigError(
            f"{problem.name} has {len(problem.levels)} levels, but {len(counts)} sizes are given."
        )
    levels = {}
    for t, (function, rows) in enumerate(zip(problem.levels, counts, strict=True)):
        x = problem.design(rows, 10 * seed + t, evenly)
        levels[f"level {t + 1}"] = (x, function(x))
    return levels


def level_federation(levels: Levels) -> Federation:
    """Levels as clients, in their order; all rows train, in double precision."""
    if not levels:
        raise ConfigError("there are no levels; give at least one.")
    x, y = (
        np.concatenate([np.asarray(rows[part], np.float64) for rows in levels.values()]) for part in (0, 1)
    )
    owners = np.repeat(np.arange(len(levels)), [len(rows[1]) for rows in levels.values()])
    return Federation.from_owners(x, y, owners, classes=None, names=tuple(levels))


def fit_levels(levels: Levels, process: GaussianProcess | None = None, **training: Any) -> GaussianProcess:
    """The process whose prior all levels learned; predict with its last client."""
    return (process or GaussianProcess()).fit(level_federation(levels), **training)


def compare_methods(
    levels: Levels,
    x: Float64s,
    truth: Float64s,
    process: GaussianProcess | None = None,
    methods: Sequence[str] = METHODS,
    **training: Any,
) -> MethodComparison:
    """How well methods predict the highest level's `truth` at rows x, from the same rows."""
    used = process or GaussianProcess()
    scaled = scale_design(level_federation(levels), used.domain)
    kernel = Kernel(used.kernel, len(scaled.design.terms), used.ard)
    own, place = scaled.outputs[-1], scaled.inputs.scaled(x)
    found = {}
    for method in methods:
        if method not in METHODS:
            raise unknown("method", method, METHODS)
        mean = _predict(method, kernel, scaled, place, used, training)
        found[method] = float(np.sqrt(np.mean((mean - own.scaled(truth)) ** 2)))
    return MethodComparison(found)


def _predict(
    method: str, kernel: Kernel, scaled: Scaled, x: Float64s, process: GaussianProcess, training: Any
) -> Float64s:
    """Scaled means of the highest level at scaled rows."""
    rows = [scaled.design.client(i) for i in range(len(scaled.design))]
    if method == CO_KRIGING:
        return fit_co_kriging(kernel, rows).predict(x)
    if method == NONLINEAR:
        return predict_nonlinear(rows, x)
    if method == MODULAR:
        return predict_modular(kernel, rows, x)
    if method == ALONE_BEST:
        params = maximize_likelihood(kernel, rows[-1:]).params
    else:
        everyone = scaled.design.federation
        seen = everyone if method == FEDERATED else everyone.subset([len(everyone) - 1])
        same = GaussianProcess(**{**process.get_params(), "domain": (0.0, 1.0), "standardize": False})
        if method == ALONE:
            same.set_params(weights="data")
        params = same.fit(seen, **training).log_params
    return Posterior(kernel, params, *rows[-1]).predict(x).mean
