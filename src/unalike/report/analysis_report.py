"""What came out of an analysis, on one page and in files?  (Summary as text, LaTeX and page; figures.)"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..analytics.estimator import Estimator
from ..analytics.figures.estimates import forest, residual_plot
from ..analytics.figures.hierarchical import caterpillar, shrinkage
from ..analytics.hierarchical.hm2 import HM2
from ..analytics.linear.mixed_model import MixedModel
from ..analytics.linear.regression import LinearRegression
from ..analytics.summary import show_number
from ..runs.atomic import write_bytes
from ..typing import Float64s
from .html import write_report

MOST_TERMS = 3
"""Coefficients of which figures of all clients are drawn."""


def analysis_figures(fitted: Any) -> dict[str, Figure]:
    """The figures that an estimator's results allow; those of single clients need their rows here."""
    figures, design = dict[str, Figure](), fitted.given.design
    if hasattr(fitted, "conf_int"):
        figures["Coefficients"] = _coefficients(_terms(fitted), fitted.params, fitted.conf_int())
    if not design.is_here:
        return figures
    if isinstance(fitted, HM2):
        figures |= {f"Clients: {term}": caterpillar(fitted, term) for term in design.terms[:MOST_TERMS]}
        figures |= {f"Shrinkage: {term}": shrinkage(fitted, term) for term in design.terms[:MOST_TERMS]}
    elif isinstance(fitted, MixedModel):
        figures |= _effects(fitted)
    elif isinstance(fitted, LinearRegression):
        split = design.federation.train
        mean = fitted.linear_predictor(split.x)
        figures["Residuals"] = residual_plot(mean, split.y - mean)
    return figures


def _coefficients(terms: Sequence[str], estimates: Float64s, intervals: Float64s) -> Figure:
    known = np.flatnonzero(np.isfinite(estimates))[::-1]
    names = [terms[j] for j in known.tolist()]
    return forest(estimates[known], intervals[known], names, "Coefficients with their intervals")


def _effects(fitted: MixedModel) -> dict[str, Figure]:
    """How far clients are from every shared coefficient, in order."""
    design, (effects, spreads) = fitted.given.design, fitted.effects()
    figures = {}
    for j, term in enumerate(design.varying):
        order = np.argsort(effects[:, j])
        middle, reach = effects[order, j], 2 * spreads[order, j]
        names = [design.federation.name(int(k)) for k in order]
        ends = np.column_stack([middle - reach, middle + reach])
        figures[f"Clients: {term}"] = forest(middle, ends, names, f"{term}: clients against what all share")
    return figures


def report_analysis(path: Path, fitted: Estimator, config: dict[str, Any]) -> Path:
    """Write the page of a fitted estimator."""
    summary = fitted.full_summary()
    facts: dict[str, str | float] = {
        name: show_number(value) for name, value in summary.facts if value is not None
    }
    tables = {
        table.title: [dict(zip(table.header, cells, strict=True)) for cells in table.rows]
        for table in summary.tables
    }
    first = next(iter(tables), "")
    return write_report(
        path,
        title=summary.title,
        subtitle=str(config.get("formula", config.get("analysis", ""))),
        source=str(config.get("data", "")),
        summary=facts,
        figures=analysis_figures(fitted),
        captions={"Residuals": "A pattern here says that the model is wrong."},
        tables=tables,
        notes={first: " ".join(summary.notes)},
        config=config,
        events=fitted.run.events() if hasattr(fitted, "run") else (),
    )


def write_analysis(folder: Path, fitted: Estimator, config: dict[str, Any]) -> Path:
    """`summary.txt`, `summary.tex` and `report.html` in a run's folder; the page's place."""
    summary = fitted.full_summary()
    write_bytes(folder / "summary.txt", summary.as_text().encode())
    write_bytes(folder / "summary.tex", summary.as_latex().encode())
    return report_analysis(folder / "report.html", fitted, config)


def analysis_numbers(fitted: Any) -> dict[str, Any]:
    """A result for JSON."""
    found: dict[str, Any] = {"terms": list(_terms(fitted))}
    for name in ("params", "bse", "pvalues"):
        if hasattr(fitted, name):
            value = getattr(fitted, name)
            found[name] = value if isinstance(value, dict) else np.asarray(value).tolist()
    if hasattr(fitted, "conf_int"):
        found["conf_int"] = fitted.conf_int().tolist()
    given = fitted.given
    names = [given.design.federation.name(i) for i in range(len(given.design))]
    apart = {"not_estimable": fitted.separated} if getattr(fitted, "separated", None) else {}
    return {
        **found,
        **dict(fitted.summary().facts),
        **apart,
        "taking_part": names,
        "not_taking_part": dict(given.absent),
        "noise": list(given.noisy),
        "dropped": dict(given.dropped),
    }


def _terms(fitted: Any) -> tuple[str, ...]:
    """What the coefficients belong to: all columns of the design, unless the estimator knows better."""
    return tuple(getattr(fitted, "terms", fitted.given.design.terms))
