"""A client that joins after a fit, and predictions for it or for others: nothing is trained.

HM2 draws the coefficients of a new device from the population, given its rows; a Gaussian process conditions
the shared prior on them. Without rows of its own, a new client is predicted for as one that nobody has met.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.tables import Table
from ..errors import ConfigError
from .estimator import Estimator
from .forecast import Forecast
from .gaussian_process.client_process import ClientProcess
from .gaussian_process.regression import GaussianProcess
from .hierarchical.device_posterior import DevicePosterior
from .hierarchical.hm2 import HM2
from .model_matrix import complete_rows, matrix_of
from .summary import SummaryTable

Newcomer = DevicePosterior | ClientProcess


def adapt_to(fitted: Estimator, table: Table) -> Newcomer:
    """What a fit knows of a client that joins with these rows, which need their responses.

    Args:
        fitted: HM2 or a Gaussian process, fitted by a formula.
        table: the rows.
    """
    plan = fitted.fitted_to.plan
    if plan is None or not isinstance(fitted, HM2 | GaussianProcess):
        raise ConfigError(
            f"{type(fitted).__name__} cannot take up a new client; hm2 and gp can, from its rows alone."
        )
    rows = table.rows(complete_rows(table, plan))
    matrix = matrix_of(rows, plan)
    if isinstance(fitted, HM2):
        return fitted.new_device(matrix.x, matrix.y)
    return fitted.adapt(fitted.inputs_of(rows), matrix.y)


def newcomer_table(fitted: Estimator, newcomer: Newcomer, name: str, level: float = 0.95) -> SummaryTable:
    """The coefficients of a new device beside those of the population, or how well a new process fits its
    rows.

    Args:
        fitted: what it joins.
        newcomer: of :func:`adapt_to`.
        name: what it is called.
        level: of intervals.
    """
    if isinstance(newcomer, DevicePosterior):
        header = ("", "estimate", "std. error", "lower", "upper", "population")
        intervals = newcomer.interval(level)
        cells = np.column_stack([newcomer.mean, newcomer.std, intervals, fitted.params]).tolist()
        rows = tuple((term, *own) for term, own in zip(newcomer.terms, cells, strict=True))
        return SummaryTable(f"new client {name}, {level:.0%} intervals", header, rows)
    _, y = newcomer.rows()
    facts = (("rows", len(y)), ("loss per row", newcomer.posterior.loss() / max(len(y), 1)))
    return SummaryTable(f"new client {name}", ("", "value"), facts)


def forecast_table(
    fitted: Estimator,
    table: Table,
    client: str | None = None,
    newcomer: Newcomer | None = None,
    level: float = 0.95,
) -> SummaryTable:
    """Predictions of rows, with intervals of new responses where the model has them.

    Args:
        fitted: the model.
        table: the rows, which need no response.
        client: whose they are; a client that nobody has met when None.
        newcomer: who they are of, if that is a client that has joined.
        level: of intervals.
    """
    found = _forecast(fitted, table, client, newcomer)
    whose = "a new client" if client is None else client
    header: tuple[str, ...] = ("row", "prediction")
    columns: list[Any] = [range(1, len(table) + 1), found.mean.tolist()]
    if found.std is not None:
        header = (*header, "lower", "upper")
        columns += found.interval(level).T.tolist()
    rows = tuple(
        tuple(None if isinstance(cell, float) and np.isnan(cell) else cell for cell in (str(first), *rest))
        for first, *rest in zip(*columns, strict=True)
    )
    return SummaryTable(f"predictions for {whose}", header, rows)


def _forecast(fitted: Estimator, table: Table, client: str | None, newcomer: Newcomer | None) -> Forecast:
    if isinstance(newcomer, DevicePosterior):
        return newcomer.forecast(fitted.fitted_to.rows(table))
    if isinstance(newcomer, ClientProcess):
        assert isinstance(fitted, GaussianProcess)
        x = fitted.inputs_of(table)
        known = np.asarray(np.isfinite(x).all(axis=1))
        return newcomer.forecast(x[known]).at(known)
    return fitted.forecast(table, fitted.client_number(client))
