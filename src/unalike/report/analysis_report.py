"""Report of an analysis: summary as text, LaTeX and page; figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..analytics.estimator import Estimator
from ..analytics.summary import SummaryTable, show_number
from ..runs.atomic import write_bytes
from ..typing import Document
from .html import write_report


def report_analysis(
    path: Path, fitted: Estimator, config: Document, more: Sequence[SummaryTable] = ()
) -> Path:
    """Write the page of a fitted estimator, with `more` tables below its own."""
    summary = fitted.full_summary().with_tables(more)
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
        figures=fitted.figures(),
        captions={"Residuals": "A pattern here says that the model is wrong."},
        tables=tables,
        notes={first: " ".join(summary.notes)},
        config=config,
        events=fitted.run.events() if hasattr(fitted, "run") else (),
    )


def write_analysis(
    folder: Path, fitted: Estimator, config: Document, more: Sequence[SummaryTable] = ()
) -> Path:
    """`summary.txt`, `summary.tex` and `report.html` in a run's folder; the page's place."""
    summary = fitted.full_summary().with_tables(more)
    write_bytes(folder / "summary.txt", summary.as_text().encode())
    write_bytes(folder / "summary.tex", summary.as_latex().encode())
    return report_analysis(folder / "report.html", fitted, config, more)


def table_numbers(table: SummaryTable) -> Document:
    """A table for JSON."""
    header = [name or "name" for name in table.header]
    return {"title": table.title, "rows": [dict(zip(header, row, strict=True)) for row in table.rows]}


def analysis_numbers(fitted: Any) -> Document:
    """A result for JSON, without what the estimator refuses."""
    found: Document = {"terms": list(fitted.terms)}
    for name in ("params", "bse", "pvalues"):
        if name not in fitted.refuses and hasattr(fitted, name):
            found[name] = getattr(fitted, name).tolist()
    if "conf_int" not in fitted.refuses:
        found["conf_int"] = fitted.conf_int().tolist()
    given = fitted.given
    apart = {"not_estimable": fitted.separated} if getattr(fitted, "separated", None) else {}
    return {
        **found,
        **dict(fitted.summary().facts),
        **apart,
        "taking_part": list(fitted.clients),
        "not_taking_part": dict(given.absent),
        "noise": list(given.noisy),
        "dropped": dict(given.dropped),
    }
