"""Held-out error of an analysis: rows of every client that are left out of the fit, and predicted.

    RMSE_k = sqrt( mean over k's held-out rows of (prediction - response)^2 ),      A-RMSE = mean over clients

Beside it stand what clients would have alone (least squares of their own rows), from all rows in one place,
and from the mean of their ridge solutions (divide and conquer), where the model is linear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..core.random import generator
from ..data.tables import Table, Tables
from ..errors import ConfigError
from ..typing import Float64s
from .estimator import Estimator
from .hierarchical.baselines import dis_ridge, ols_each, pooled_ols
from .model_matrix import complete_rows, matrix_of
from .run_facts import SHOWN
from .summary import SummaryTable

OURS, ALONE, POOLED, DIVIDED = "this model", "alone", "pooled rows", "mean of ridge fits"
BASELINES = {ALONE: ols_each, POOLED: pooled_ols, DIVIDED: dis_ridge}


def split_tables(tables: Tables, share: float, seed: int = 0) -> tuple[dict[str, Table], dict[str, Table]]:
    """Tables without a random share of every client's rows, and these rows; one row is always kept.

    Args:
        tables: of all clients.
        share: above 0 and below 1.
        seed: the same seed leaves out the same rows.
    """
    if not 0 < share < 1:
        raise ConfigError(f"the held-out share must be above 0 and below 1, but is {share:g}.")
    kept, held = {}, {}
    for number, (name, table) in enumerate(tables.items()):
        order = generator(seed, "held-out rows", number).permutation(len(table))
        count = min(round(share * len(table)), len(table) - 1)
        out = np.zeros(len(table), np.bool_)
        out[order[:count]] = True
        kept[name], held[name] = table.rows(~out), table.rows(out)
    return kept, held


@dataclass(frozen=True)
class HeldOut:
    """Root mean squared errors by method and client; NaN for a client without held-out rows."""

    clients: tuple[str, ...]
    rows: tuple[int, ...]
    errors: Mapping[str, Float64s]

    def means(self) -> dict[str, float]:
        """A-RMSE of every method."""
        return {method: float(np.nanmean(values)) for method, values in self.errors.items()}

    def table(self) -> SummaryTable:
        """The mean over clients, then each client."""
        rows: list[tuple[str | float | int | None, ...]] = [
            ("mean over clients", sum(self.rows), *self.means().values())
        ]
        for i, name in enumerate(self.clients[:SHOWN]):
            values = (None if np.isnan(found[i]) else float(found[i]) for found in self.errors.values())
            rows.append((name, self.rows[i], *values))
        return SummaryTable("error on held-out rows (RMSE)", ("", "rows", *self.errors), tuple(rows))


def held_out_errors(fitted: Estimator, held: Tables) -> HeldOut:
    """The errors of a fitted estimator on rows that were left out.

    Args:
        fitted: to tables with a formula.
        held: the rows of every client.
    """
    plan = fitted.fitted_to.plan
    if plan is None or fitted.judged_by != "R^2":
        raise ConfigError("held-out errors are of responses that are numbers, and of a fit by formula.")
    tables = {name: held[name].rows(complete_rows(held[name], plan)) for name in fitted.clients}
    matrices = {name: matrix_of(table, plan) for name, table in tables.items() if len(table)}
    design = fitted.fitted_to.design
    ours = {name: np.asarray(fitted.predict(tables[name], name)) for name in matrices}
    errors = {OURS: [_rmse(ours.get(name), matrices.get(name)) for name in fitted.clients]}
    if design.is_here and design.terms == plan.terms:
        for method, fit in BASELINES.items():
            params = fit(design)
            errors[method] = [
                _rmse(matrices[name].x @ params[i], matrices[name]) if name in matrices else np.nan
                for i, name in enumerate(fitted.clients)
            ]
    rows = tuple(len(tables[name]) for name in fitted.clients)
    return HeldOut(fitted.clients, rows, {method: np.array(found) for method, found in errors.items()})


def _rmse(predicted: Float64s | None, known: object) -> float:
    y = getattr(known, "y", None)
    if predicted is None or y is None or not len(y):
        return float("nan")
    return float(np.sqrt(np.mean((predicted - y) ** 2)))
