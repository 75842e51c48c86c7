"""The page of an audit: report card, curves, clients and protocol."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from ..privacy.audit.leakage import Leakage
from ..privacy.audit.report_card import ReportCard, summarize
from ..typing import Row
from .audit_plots import leakage_by_client, roc_plot
from .html import write_report

_CAPTIONS = {
    "ROC": "Both axes are logarithmic. Dashed: guessing. The last name is the attack with the best guesses.",
    "Clients": "Lines are 95 % intervals of Clopper and Pearson, for each client by itself.",
}


def report_audit(card: ReportCard, path: str | Path, title: str = "Privacy audit") -> Path:
    """Write an audit's page, whole or not at all."""
    parts = [part for part in (card.training, card.reference) if part is not None]
    figures: dict[str, Figure] = {}
    captions: dict[str, str] = {}
    tables: dict[str, Sequence[Row]] = {"Report card": card.rows()}
    for part in parts:
        for kind, drawn in (("ROC", roc_plot(part)), ("Clients", leakage_by_client(part))):
            name = f"{kind}, {part.what} rows"
            figures[name], captions[name] = drawn, _CAPTIONS[kind]
        tables |= _tables(part)
    tables["Measured, declared, combined"] = _sources(card)
    tables["Notes"] = [{"note": note} for note in card.notes]
    return write_report(
        path,
        title=title,
        subtitle=summarize(card),
        summary={row["metric"]: row["measured"] for row in card.rows()},
        figures=figures,
        captions=captions,
        tables=tables,
        config=dict(card.facts),
        events=[],
    )


def _tables(part: Leakage) -> dict[str, list[dict[str, str]]]:
    """Attacks, clients and groups."""
    tables = {f"Attacks on {part.what} rows": [one.readable() for one in part.attacks]}
    for name, found in (("clients", part.clients), ("groups", part.groups)):
        if found:
            tables[f"{part.what.capitalize()} leakage by {name}"] = [
                {name[:-1]: one.name, "accuracy": str(one.accuracy), "rows": f"{one.accuracy.rows:,}"}
                for one in found
            ]
    return tables


def _sources(card: ReportCard) -> list[dict[str, str]]:
    """Epsilons and weights, with where each comes from."""
    bound = card.training.epsilon
    rows = [
        {
            "value": "epsilon is at least",
            "number": f"{bound.epsilon:.3g}",
            "source": f"measured: {bound.right} of {bound.guesses} guesses right, delta {bound.delta:g}",
        }
    ]
    for source, values in (("declared", card.declared), ("combined", card.combined)):
        rows += [{"value": _words(k), "number": f"{v:.4g}", "source": source} for k, v in values.items()]
    return rows


def _words(name: str) -> str:
    return name.replace("_", " ")
