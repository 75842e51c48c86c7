"""Report of client similarity on one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..data import Federation
from ..data.similarity import Similarity
from ..typing import Document, Row
from .html import write_report
from .similarity_plots import cohort_figure, similarity_figures

if TYPE_CHECKING:
    from ..advice.heterogeneity import HeterogeneityAdvice

_CAPTIONS = {
    "Misalignment of pairs": "(1 - cosine) / 2 of the messages of two clients; lines are quartiles. Further "
    "up means less alike; shuffled rows show what chance alone would do.",
    "Eigenvalues": "They lie high where clients are alike; a low second one tells of groups.",
    "Log-normal check": "The theory takes -ln misalignment as normal.",
    "Similarity of pairs": "Blocks on the diagonal are groups of clients that are alike.",
    "Spectral layout": "Near points are clients that are alike.",
    "Weights by likeness": "What `--importance similarity` would make of clients; 1 is neutral.",
    "Rounds": "A cohort that is more homogeneous than everyone sees only a part of what there is.",
    "Classes of clients": "What labels say, which messages do not see.",
}
_MOST_ROWS = 100


def report_similarity(
    path: str | Path,
    found: Similarity,
    federation: Federation,
    advice: HeterogeneityAdvice | None = None,
    config: Document | None = None,
) -> Path:
    """Write the page: verdict, numbers, figures, measures side by side, clients and warnings."""
    figures = similarity_figures(found, federation)
    if advice is not None and advice.cohorts is not None:
        figures["Rounds"] = cohort_figure(advice.cohorts)
    return write_report(
        path,
        title="How unlike are these clients?",
        subtitle=found.verdict(),
        source=federation.description,
        summary=_summary(found),
        figures=figures,
        captions=_CAPTIONS,
        tables={**_measures(advice), "Clients": _clients(found, federation)},
        notes={"Clients": " ".join(found.warnings), "Measures": "" if advice is None else _words(advice)},
        config=config or {},
        events=(),
    )


def _summary(found: Similarity) -> dict[str, str | float]:
    if len(found.compared) < 2:
        return {"clients": float(len(found.clients))}
    summary: dict[str, str | float] = {
        "clients": float(found.population),
        "homogeneity": round(found.homogeneity, 3),
    }
    if np.isfinite(found.reference):
        summary |= {"of shuffled rows": round(found.reference, 3), "ratio": f"{found.ratio:.0%}"}
    return summary | {"groups": float(found.groups().max() + 1)}


def _measures(advice: HeterogeneityAdvice | None) -> dict[str, list[Row]]:
    if advice is None:
        return {}
    rows = [
        {
            "measure": report.name,
            "value": report.value,
            "if_alike": report.alike,
            "agreement_with_features": report.agreement,
        }
        for report in advice.reports
    ]
    cohorts = [] if advice.cohorts is None else [advice.cohorts.summary()]
    return {"Measures": rows, "Homogeneity of rounds": cohorts}


def _words(advice: HeterogeneityAdvice) -> str:
    return " ".join((f"Use {advice.recommended}.", *advice.reasons))


def _clients(found: Similarity, federation: Federation) -> list[Row]:
    """The clients of the graph, the least like others first."""
    groups, shares = found.groups(), found.importance[found.compared] * len(found.clients)
    return [
        {
            "client": federation.name(int(found.compared[k])),
            "rows": int(federation.train.sizes[found.compared[k]]),
            "weight_over_equal": round(float(shares[k]), 4),
            "group": int(groups[k]),
        }
        for k in np.argsort(shares, kind="stable")[:_MOST_ROWS].tolist()
    ]
