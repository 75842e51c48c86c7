"""Summary of HM2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...training.run import Run
from ..design import Design
from ..run_facts import SHOWN, collinearity_notes, rows_table, run_facts
from ..summary import Summary, SummaryTable

if TYPE_CHECKING:
    from .hm2 import HM2

POOLED = np.exp(-6.0)
"""Below this variance between devices, one model for all is as good."""
COVERAGE = (
    "Intervals are of an approximate posterior with a prior: in simulations of 10 to 100 devices, 83 to 89 % "
    "of those of 90 % held the truth."
)
"""Measured with the default prior and with a wide one; the page on linear models has the settings."""


def hm2_summary(model: HM2, design: Design, run: Run, level: float) -> Summary:
    """Tables of the population, the variances between devices, and the first devices' own coefficients."""
    percent = f"{100 * level:g} %"
    tables = (
        _means(model, design, level, percent),
        _variances(model, design, level, percent),
        *([_devices(model, design)] if design.is_here else []),
        rows_table(design),
    )
    notes = collinearity_notes(design)
    if np.all(model.variances < POOLED):
        notes = (*notes, "Devices hardly differ: one model of all rows is adequate.")
    far = np.abs(model.params) > 1.5 * np.sqrt(model.prior_variance)
    if far.any():
        words = ", ".join(term for term, is_far in zip(design.terms, far, strict=True) if is_far)
        notes = (
            *notes,
            f"The prior takes means of coefficients for about {np.sqrt(model.prior_variance):g}; {words} is "
            "pulled towards zero. Center and scale the response and the columns, or raise prior_variance.",
        )
    return Summary("HM2: devices from one distribution", run_facts(design, run), tables, (*notes, COVERAGE))


def _means(model: HM2, design: Design, level: float, percent: str) -> SummaryTable:
    from scipy.stats import t

    tails = 2 * t.sf(np.abs(model.params / model.bse), model.degrees_of_freedom)
    columns = (model.params, model.bse, *model.conf_int(level).T, tails)
    rows = tuple((term, *map(float, row)) for term, *row in zip(design.terms, *columns, strict=True))
    header = ("", "estimate", "std. error", f"{percent} lower", "upper", "tail probability")
    return SummaryTable("means of coefficients over devices", header, rows)


def _variances(model: HM2, design: Design, level: float, percent: str) -> SummaryTable:
    columns = (model.variances, *model.variance_interval(level).T, model.heterogeneity())
    rows = tuple((term, *map(float, row)) for term, *row in zip(design.terms, *columns, strict=True))
    header = ("", "variance", f"{percent} lower", "upper", "P(variance < 0.01)")
    return SummaryTable("variance components: how devices differ", header, rows)


def _devices(model: HM2, design: Design) -> SummaryTable:
    rows = []
    for i in range(min(len(design), SHOWN)):
        found = model.device_posterior(i, draws=500)
        cells = [f"{m:.3g} ({s:.2g})" for m, s in zip(found.mean, found.std, strict=True)]
        rows.append((design.federation.name(i), *cells))
    return SummaryTable(
        "coefficients of devices: mean (standard deviation)", ("client", *design.terms), tuple(rows)
    )
