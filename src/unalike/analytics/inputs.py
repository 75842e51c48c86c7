"""What can an estimator be fitted to?  (A design, a federation, or tables with a formula.)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..data import Federation
from ..data.tables import Table, tables_of
from ..errors import ConfigError, DataError
from ..typing import Float64s
from .design import Design
from .model_matrix import GAPS, Gaps, Plan, design_by_formula, matrix_of


@dataclass(frozen=True)
class Given:
    """A design, and how it was made where a formula made it."""

    design: Design
    plan: Plan | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)

    def rows(self, new: Any) -> Float64s:
        """New rows as columns of the design: an array of these, or a table where there is a formula."""
        if (self.plan is not None and isinstance(new, Table | Mapping)) or hasattr(new, "columns"):
            table = new if isinstance(new, Table) else next(iter(tables_of({"new": new}).values()))
            return matrix_of(_with_response(table, self.design.response), _required(self.plan)).x
        x = np.asarray(new, np.float64)
        if x.ndim != 2 or x.shape[1] != len(self.design.terms):
            raise DataError(
                f"new rows must have the {len(self.design.terms)} columns {', '.join(self.design.terms)}."
            )
        return x


def as_given(data: Any, formula: str | None = None, gaps: Gaps = "drop", intercept: bool = True) -> Given:
    """What an estimator is fitted to, from whatever people have."""
    if isinstance(data, Given):
        return data
    if gaps not in GAPS:
        raise ConfigError(f"gaps are dropped or refused (gaps='drop' or 'refuse'), not {gaps!r}.")
    if isinstance(data, Design | Federation) and formula is None:
        design = data if isinstance(data, Design) else Design.of(data, intercept)
        check_finite(design)
        return Given(design)
    if formula is None:
        raise ConfigError("tables need a formula, such as 'y ~ age + C(sex)'.")
    return Given(*design_by_formula(tables_of(data), formula, gaps))


def check_finite(design: Design) -> None:
    """Raise where a row has a gap or an infinity, with the client's name."""
    split = design.federation.train
    wrong = ~(np.isfinite(split.x).all(axis=1) & np.isfinite(split.y))
    if wrong.any():
        client = design.federation.name(int(split.owners[wrong.argmax()]))
        raise DataError(f"client {client!r} has {wrong.sum()} rows with gaps; drop or fill them first.")


def _required(plan: Plan | None) -> Plan:
    if plan is None:
        raise DataError("tables can be predicted only where a formula made the columns; give an array.")
    return plan


def _with_response(table: Table, response: str) -> Table:
    """New rows need no response; any number stands for it."""
    return table if response in table else Table({**table.columns, response: np.zeros(len(table))})
