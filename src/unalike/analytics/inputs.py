"""Inputs of an estimator: a design, a federation, or tables with a formula."""

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
from .model_matrix import MISSING, MissingValues, Plan, design_by_formula, predictors_of, why_no_rows


@dataclass(frozen=True)
class EstimatorInput:
    """A design, and how it was made where a formula made it."""

    design: Design
    plan: Plan | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    """Clients that do not take part, and why."""
    noisy: tuple[str, ...] = ()
    """Clients whose answers have noise."""

    def remarks(self) -> list[str]:
        """What a summary should say of the clients and rows that are not in it."""
        said = []
        if self.dropped:
            total = sum(self.dropped.values())
            said.append(
                f"{total} rows with missing values were dropped, at {len(self.dropped)} of "
                f"{len(self.design) + len(self.absent)} clients."
            )
        if self.absent:
            federation = self.design.federation
            there = ", ".join(federation.name(i) for i in range(len(federation)))
            away = "; ".join(f"{name} ({why.rstrip('.')})" for name, why in self.absent.items())
            said.append(f"Taking part: {there}. NOT taking part: {away}.")
        if self.noisy:
            said.append(
                f"Answers of {', '.join(self.noisy)} have noise (differential privacy). Standard errors, "
                "intervals and p-values do NOT include it."
            )
        return said

    @property
    def event(self) -> str:
        """Which value of the response is the 1 of a yes or no, such as `ill = yes`."""
        words = self.response_words
        return f"{self.design.response} = {words[1] if words else 1}"

    @property
    def response_words(self) -> tuple[str, ...]:
        """The two words of a response that is a yes or no in words; none for numbers."""
        words = () if self.plan is None else self.plan.words.get(self.design.response, ())
        return tuple(words) if len(words) == 2 else ()

    def rows(self, new: Any) -> Float64s:
        """New rows as columns of the design: an array of these, or a table where there is a formula; NaN in a
        row with a missing value or with a word that no row had."""
        if (self.plan is not None and isinstance(new, Table | Mapping)) or hasattr(new, "columns"):
            table = new if isinstance(new, Table) else next(iter(tables_of({"new": new}).values()))
            return predictors_of(table, _require_plan(self.plan))
        x = np.asarray(new, np.float64)
        if x.ndim != 2 or x.shape[1] != len(self.design.terms):
            raise DataError(
                f"new rows must have the {len(self.design.terms)} columns {', '.join(self.design.terms)}."
            )
        return x


def as_given(
    data: Any, formula: str | None = None, missing: MissingValues = "drop", intercept: bool = True
) -> EstimatorInput:
    """What an estimator is fitted to, from whatever people have."""
    if isinstance(data, EstimatorInput):
        return data
    if missing not in MISSING:
        raise ConfigError(f"missing must be 'drop' or 'refuse', got {missing!r}.")
    if isinstance(data, Design | Federation) and formula is None:
        design = data if isinstance(data, Design) else Design.of(data, intercept)
        check_finite(design)
        return EstimatorInput(design)
    if formula is None:
        raise ConfigError("tables need a formula, such as 'y ~ age + C(sex)'.")
    tables = tables_of(data)
    planned = design_by_formula(tables, formula, missing)
    there = set(planned.design.federation.names or ())
    absent = {name: why_no_rows(table, planned.plan) for name, table in tables.items() if name not in there}
    dropped = {name: count for name, count in planned.dropped.items() if name in there}
    return EstimatorInput(planned.design, planned.plan, dropped, absent)


def check_finite(design: Design) -> None:
    """Raise where a row has a missing value or an infinity, with the client's name."""
    split = design.federation.train
    wrong = ~(np.isfinite(split.x).all(axis=1) & np.isfinite(split.y))
    if wrong.any():
        client = design.federation.name(int(split.owners[wrong.argmax()]))
        raise DataError(
            f"client {client!r} has {wrong.sum()} rows with missing values; drop or fill them first."
        )


def _require_plan(plan: Plan | None) -> Plan:
    if plan is None:
        raise DataError("tables can be predicted only where a formula made the columns; give an array.")
    return plan
