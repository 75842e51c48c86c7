"""Report of a comparison of unlearning schemes on one page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..core.figure_style import PALETTE, figure, with_figure_style
from ..experiments.compare_schemes import Result, SchemeComparison
from ..experiments.scheme_files import readable
from .html import write_report
from .plots import save

NOTE = (
    "The yardstick of every scheme is scratch: it never saw the forgotten clients. Accuracies are measured, "
    "and only the guarantee is promised. Where a retraining restarts depends on the forgotten clients' "
    "rows, so that rounds should not be published."
)


@with_figure_style
def scheme_plot(results: Sequence[Result], measure: str) -> Figure:
    """Rounds of every scheme's retraining, and what is left of the forgotten clients beside the others.

    Args:
        results: what every scheme came to.
        measure: what was measured on rows.
    """
    shown = [result for result in results if result.rounds is not None]
    picture = figure(8.6, 1.3 + 0.4 * len(shown))
    left, right = picture.subplots(1, 2, sharey=True)
    places = np.arange(len(shown))
    left.barh(places, [float(result.rounds or 0) for result in shown], height=0.6, color=PALETTE[0])
    left.set_yticks(places, [result.scheme for result in shown])
    left.invert_yaxis()
    left.set_title("Rounds of the retraining")
    for shift, name, words in ((-0.18, "forgotten", "forgotten clients"), (0.18, "others", "other clients")):
        values = [getattr(result, name) for result in shown]
        right.barh(places + shift, values, height=0.34, color=PALETTE[1 if shift < 0 else 2], label=words)
    right.set_title(f"{measure.capitalize()} on training rows")
    right.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return picture


def report_schemes(folder: Path, comparison: SchemeComparison, results: Sequence[Result]) -> Path:
    """Write the page of a comparison, and its figure beside it.

    Args:
        folder: where both are written.
        comparison: what was compared.
        results: what every scheme came to.
    """
    request, measure = comparison.request, comparison.measure
    drawn = scheme_plot(results, measure)
    save(drawn, folder / "schemes.png")
    budget = request.budget
    known = {result.scheme: result for result in results}
    summary: dict[str, Any] = {
        "Forgotten": ", ".join(request.names),
        "Rounds from scratch": known["scratch"].rounds or 0,
        "Rounds by SIFU": known["sifu"].rounds or 0,
    }
    return write_report(
        folder / "schemes.html",
        title="Unlearning schemes",
        subtitle=f"on {comparison.run.path.name}, for ({budget.epsilon:g}, {budget.delta:g}) and noise of "
        f"{budget.sigma:g}",
        summary=summary,
        figures={"Schemes": drawn},
        captions={"Schemes": "Bars of forgotten clients should be as long as those of scratch."},
        config=comparison.asked(),
        events=[],
        tables={"Results": readable(results, measure)},
        source=comparison.present.description,
        notes={"Results": NOTE},
    )
