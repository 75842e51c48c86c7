"""Levels of fidelity in one table: a column says which, and the highest level is predicted.

The highest level is the one that is named, or the one with the fewest rows, for expensive simulations are
few. Other methods see the same rows, and are judged on rows of the highest level that were left out.
"""

from __future__ import annotations

import numpy as np

from ...data.tables import Table, Tables
from ...errors import ConfigError, unknown
from ..model_matrix import complete_rows, matrix_of
from ..summary import SummaryTable
from .multi_fidelity import (
    ALONE,
    ALONE_BEST,
    CO_KRIGING,
    FEDERATED,
    MODULAR,
    MethodComparison,
    compare_methods,
)
from .regression import GaussianProcess

COMPARED = (FEDERATED, ALONE, ALONE_BEST, CO_KRIGING, MODULAR)


def order_levels(tables: Tables, highest: str | None = None) -> dict[str, Table]:
    """Levels from the one with the most rows to the highest.

    Args:
        tables: rows of every level by its name.
        highest: its name; the level with the fewest rows when None.
    """
    if len(tables) < 2:
        raise ConfigError(f"levels of fidelity are two or more, but the column has {len(tables)} value.")
    if highest is not None and highest not in tables:
        raise unknown("level", highest, tables)
    top = highest or min(tables, key=lambda name: len(tables[name]))
    names = sorted((name for name in tables if name != top), key=lambda name: -len(tables[name]))
    return {name: tables[name] for name in (*names, top)}


def compare_levels(fitted: GaussianProcess, held: Table, seed: int = 0) -> MethodComparison:
    """Errors of several methods on rows of the highest level that were left out.

    Args:
        fitted: the process, fitted by a formula to levels in order.
        held: rows of the highest level.
        seed: of methods that draw.
    """
    plan = fitted.fitted_to.plan
    if plan is None:
        raise ConfigError("levels are compared for a fit by formula.")
    rows = held.rows(complete_rows(held, plan))
    levels = {name: fitted.rows(name) for name in fitted.clients}
    y = matrix_of(rows, plan).y
    return compare_methods(levels, fitted.inputs_of(rows), np.asarray(y), fitted, COMPARED, seed=seed)


def comparison_table(found: MethodComparison, highest: str) -> SummaryTable:
    """The errors, with the level in the title."""
    table = found.summary().tables[0]
    title = f"held-out error of level {highest} over the sd of its outputs"
    return SummaryTable(title, table.header, table.rows)
