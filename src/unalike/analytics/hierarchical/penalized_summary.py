"""Summary of a penalized regression."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...training.run import Run
from ..design import Design
from ..run_facts import collinearity_notes, rows_table, run_facts
from ..summary import Cell, Summary, SummaryTable

if TYPE_CHECKING:
    from .penalized import PenalizedRegression

DEVICES = 5
"""Devices whose coefficients are listed; `device_posterior` has all."""


def penalized_summary(model: PenalizedRegression, design: Design, run: Run, level: float) -> Summary:
    """Tables of the penalty, of the first devices' coefficients, and of rows."""
    facts = (*run_facts(design, run), ("prior", model.prior))
    kept = {i: int(model.device_posterior(i).selected(level).sum()) for i in model.knows}
    each = [_device(model, design, i, level) for i in model.knows[:DEVICES]]
    counts = SummaryTable(
        "predictors kept",
        ("client", "kept", "of"),
        tuple((design.federation.name(i), n, len(design.terms)) for i, n in kept.items()),
    )
    note = "A predictor is kept where its interval excludes zero."
    tables = (_hyper(model, level), *each, counts, rows_table(design))
    return Summary("Penalized regression", facts, tables, (note, *collinearity_notes(design)))


def _hyper(model: PenalizedRegression, level: float) -> SummaryTable:
    from .hm2 import interval_of_normal

    spread = np.sqrt(np.diag(model.phi_cov))
    ends = np.exp(interval_of_normal(model.phi_mean, spread, level))
    names = ("penalty", "noise variance")
    values = zip(names, np.exp(model.phi_mean), ends, strict=True)
    rows = tuple((name, float(value), float(low), float(high)) for name, value, (low, high) in values)
    return SummaryTable("common to all devices", ("", "median", f"{100 * level:g} % lower", "upper"), rows)


def _device(model: PenalizedRegression, design: Design, client: int, level: float) -> SummaryTable:
    posterior = model.device_posterior(client)
    rows: list[tuple[Cell, ...]] = []
    for term in design.terms:
        found = posterior.test(term, level)
        mark = "kept" if found.rejected else ""
        numbers = (found.estimate, found.std_error, found.lower, found.upper, found.tail_probability)
        rows.append((term, *numbers, mark))
    header = ("", "estimate", "std. error", f"{100 * level:g} % lower", "upper", "tail probability", "")
    return SummaryTable(f"coefficients of client {design.federation.name(client)}", header, tuple(rows))
