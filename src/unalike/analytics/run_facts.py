"""Cost of an analysis (rounds, bytes and rows), for the head of a summary."""

from __future__ import annotations

import numpy as np

from ..training.run import Run
from .design import Design
from .linear.identifiability import find_aliased
from .summary import Cell, SummaryTable

SHOWN = 20
"""Clients that a summary lists; of more, the first ones."""


def run_facts(design: Design, run: Run) -> tuple[tuple[str, Cell], ...]:
    """Clients, rows, rounds and bytes of a fitted analysis."""
    metrics = run.metrics()
    down, up = (int(np.nansum(metrics.get(name, np.zeros(1)))) for name in ("bytes_down", "bytes_up"))
    return (
        ("response", design.response),
        ("clients", len(design)),
        ("rows", design.rows),
        ("rounds", run.rounds),
        ("bytes to clients", down),
        ("bytes from clients", up),
    )


def collinear_terms(design: Design) -> tuple[str, ...]:
    """Columns that are combinations of earlier ones (or zero) in the rows of all clients together.

    >>> x = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0]])
    >>> from unalike.data import Federation
    >>> collinear_terms(Design.of(Federation.from_owners(x, x[:, 0], np.zeros(2, int)), intercept=False))
    ('x2',)
    """
    rows = design.federation.train.x
    return tuple(design.terms[j] for j in find_aliased(rows.T @ rows)[1].tolist())


def collinearity_notes(design: Design) -> tuple[str, ...]:
    """A sentence for a summary where columns say the same."""
    terms = collinear_terms(design) if design.is_here else ()
    if not terms:
        return ()
    return (f"Only the prior separates {', '.join(terms)} from columns before: they are collinear.",)


def rows_table(design: Design) -> SummaryTable:
    """How many rows the clients have."""
    sizes = design.federation.train.sizes
    shown = tuple((design.federation.name(i), int(n)) for i, n in enumerate(sizes[:SHOWN]))
    title = "rows per client" + (f", the first {SHOWN} of {len(sizes)}" if len(sizes) > SHOWN else "")
    return SummaryTable(title, ("client", "rows"), shown)
