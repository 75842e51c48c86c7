"""Report of a comparison on one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from ..experiments.targets import has_clock
from ..runs.comparison import NOT_TRAINED, UNTRAINED, Comparison
from ..runs.comparison_files import interval_words
from ..typing import Config, Fields
from .comparison_plots import Runs, comparison_clients, comparison_curves, comparison_in_time
from .fairness_plots import frontier_plot
from .html import write_report
from .plots import fix_layout, save
from .text_format import title, value

_FRONTIER = "The mean over clients against its spread: up and to the left is better and fairer."
_LINE = " The line joins what nothing else beats in both."
_TRIALS = "Every trial's score on validation rows; the filled one of each method was chosen."
_ALONE = "Clients that do worse than alone"
_PAYS = "Who gains and who pays"
Rows = Sequence[Fields]
_NOTHING: Config = {}


def report_comparison(
    path: str | Path,
    comparison: Comparison,
    runs: Runs = _NOTHING,
    config: Config = _NOTHING,
    worse: Rows = (),
    source: str = "",
    pays: Rows = (),
    notes: Sequence[str] = (),
) -> Path:
    """Write the page; `runs` maps each method to the recorded columns of its seeds, for the curves, `worse`
    says who does worse than alone, `source` where the data came from, `pays` who is worse off than with the
    baseline, and `notes` stand behind the numbers of the table."""
    tables = {_PAYS: pays, _ALONE: worse}
    return comparison_page(path, comparison, runs, config, tables, source, notes=notes)


def comparison_page(
    path: str | Path,
    comparison: Comparison,
    runs: Runs,
    config: Config,
    tables: Mapping[str, Rows] = _NOTHING,
    source: str = "",
    figures: Mapping[str, Figure] = _NOTHING,
    notes: Sequence[str] = (),
) -> Path:
    """The page of a comparison, with more figures and tables after its own."""
    more, figures = figures, {}
    if runs:
        figures["Learning"] = comparison_curves(runs, comparison.metric)
        if any(has_clock(columns) for seeds in runs.values() for columns in seeds):
            figures["Time"] = comparison_in_time(runs, comparison.metric)
    if comparison.clients:
        figures["Clients"] = comparison_clients(comparison.clients, comparison.metric)
    points = {
        row["method"]: [(row["spread"], row["clients_mean"])]
        for row in comparison.rows
        if "spread" in row and not row[UNTRAINED]
    }
    if len(points) > 1 and "Frontier" not in more:
        figures["Frontier"] = frontier_plot(points, comparison.higher is not False)
    figures |= more
    fix_layout(figures.values())
    for name, drawn in figures.items():
        for ending in ("png", "pdf"):
            save(drawn, Path(path).parent / "plots" / f"{name.lower()}.{ending}")
    methods = [row["method"] for row in comparison.rows]
    return write_report(
        path,
        title=" against ".join(methods) if len(methods) < 4 else f"{len(methods)} methods compared",
        subtitle=f"by {title(comparison.metric).lower()}, paired by seed with {comparison.baseline}",
        summary={"Best": comparison.leader or "none for sure", **_means(comparison)},
        figures=figures,
        captions=_captions(comparison.rows[0]["seeds"], config.get("seed", 0), figures),
        source=f"Data: {source}." if source else "",
        notes=_notes(comparison, config.get("seed", 0), notes),
        config=config,
        events=[],
        tables={"Results": comparison.readable(), **tables},
    )


def _captions(seeds: int, first: int, figures: Mapping[str, Figure]) -> dict[str, str]:
    mean = f"Means over {seeds} seeds; the bands are 95 % t intervals." if seeds > 1 else "One seed."
    return {
        "Learning": f"{mean} The axis shows where methods differ; the first rounds may lie outside.",
        "Time": f"{mean} The same by simulated time, as far as every seed of a method was trained.",
        "Clients": f"{_seed(seeds, first)}: each method's clients, worst first. A better mean can hide a "
        "worse bottom decile.",
        "Trials": _TRIALS,
        "Frontier": _FRONTIER + (_LINE if _has_line(figures.get("Frontier")) else ""),
    }


def _has_line(drawn: Figure | None) -> bool:
    return drawn is not None and any(axes.lines for axes in drawn.axes)


def _notes(comparison: Comparison, first: int, given: Sequence[str]) -> dict[str, str]:
    seeds = comparison.rows[0]["seeds"]
    return {
        "Results": " ".join(given or [interval_words(seeds), *comparison.untrained()]),
        _PAYS: f"{_seed(seeds, first)}, against the baseline; the worst tenth is the baseline's.",
        _ALONE: f"{_seed(seeds, first)}; the clients that lose most come first.",
    }


def _seed(seeds: int, first: int) -> str:
    return f"Seed {first}, one of {seeds}" if seeds > 1 else f"Seed {first}"


def _means(comparison: Comparison) -> dict[str, str | float]:
    return {
        row["method"]: NOT_TRAINED if row[UNTRAINED] else value(comparison.metric, row[comparison.metric])
        for row in comparison.rows
    }
