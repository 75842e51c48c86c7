"""Which method won, and who paid for it?  (A comparison as one page.)"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ..runs.compare import Comparison
from .comparison_plots import Runs, comparison_clients, comparison_curves
from .html import write_report
from .plots import save
from .words import title, value

_CAPTIONS = {
    "Learning": "Means over seeds; the bands are 95 % confidence intervals.",
    "Clients": "Each method's clients, worst first: a better mean can hide a worse bottom decile.",
}
_NOTHING: Mapping[str, Any] = {}


def report_comparison(
    path: str | Path, comparison: Comparison, runs: Runs = _NOTHING, config: Mapping[str, Any] = _NOTHING
) -> Path:
    """Write the page; `runs` maps each method to the recorded columns of its seeds, for the curves."""
    return comparison_page(path, comparison, runs, config)


def comparison_page(
    path: str | Path,
    comparison: Comparison,
    runs: Runs,
    config: Mapping[str, Any],
    figures: Mapping[str, Figure] = _NOTHING,
    tables: Mapping[str, Any] = _NOTHING,
) -> Path:
    """The page of a comparison, with more figures and tables after its own."""
    more, figures = figures, {}
    if runs:
        figures["Learning"] = comparison_curves(runs, comparison.metric)
    if comparison.clients:
        figures["Clients"] = comparison_clients(comparison.clients, comparison.metric)
    figures |= more
    for name, drawn in figures.items():
        save(drawn, Path(path).parent / "plots" / f"{name.lower()}.png")
    methods = [row["method"] for row in comparison.rows]
    return write_report(
        path,
        title=" against ".join(methods) if len(methods) < 4 else f"{len(methods)} methods compared",
        subtitle=f"by {title(comparison.metric).lower()}, paired by seed with {comparison.baseline}",
        summary={"Best": comparison.best, **_means(comparison)},
        figures=figures,
        captions=_CAPTIONS,
        config=config,
        events=[],
        tables={"Results": comparison.readable(), **tables},
    )


def _means(comparison: Comparison) -> dict[str, str | float]:
    return {row["method"]: value(comparison.metric, row[comparison.metric]) for row in comparison.rows}
