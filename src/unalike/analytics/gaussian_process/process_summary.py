"""Summary of a federated Gaussian process: what was learned, and what was sent for it."""

from __future__ import annotations

import numpy as np

from ...training.run import Run
from ...typing import Float64s
from ..run_facts import rows_table
from ..summary import Cell, Summary, SummaryTable
from .fgpr import FGPR
from .scaling import Scaled

SHOWN = 20
"""Clients in the table; the others are summed up in a note."""
Losses = list[tuple[str, int, float, float]]


def summarize(
    method: FGPR, params: Float64s, scaled: Scaled, losses: Losses, run: Run, most_rows: int
) -> Summary:
    """Facts, hyper-parameters (standard deviations and variances), and clients' losses per row."""
    kernel, design = method.kernel, scaled.design
    floats = kernel.size - int(method.personal_noise)
    facts: tuple[tuple[str, Cell], ...] = (
        ("kernel", kernel.text + (", one length per input" if kernel.ard else "")),
        ("clients", len(design)),
        ("training rows", design.rows),
        ("rounds", run.rounds),
        ("numbers sent by a client per round", floats),
    )
    clients = _clients(losses) if design.is_here else rows_table(design)
    tables = (_hyper_parameters(method, params, scaled), clients)
    return Summary(
        "Federated Gaussian process regression", facts, tables, tuple(_notes(losses, run, most_rows))
    )


def _hyper_parameters(method: FGPR, params: Float64s, scaled: Scaled) -> SummaryTable:
    kernel, rows = method.kernel, []
    for j, (name, value) in enumerate(zip(kernel.names(), np.exp(params).tolist(), strict=True)):
        if j <= kernel.noise:
            rows.append((name, value, value**2, None))
            continue
        of_input = (j - kernel.noise - 1) % kernel.lengths
        span = scaled.inputs.span
        same = kernel.ard or len(span) == 1
        rows.append((name, value, None, value * float(span[of_input]) if same else None))
    header = ("", "value", "variance", "in units of the input")
    return SummaryTable("hyper-parameters (of scaled outputs and inputs)", header, tuple(rows))


def _clients(losses: Losses) -> SummaryTable:
    header = ("", "rows", "loss per row, start", "loss per row, end")
    return SummaryTable("clients (negative log marginal likelihood)", header, tuple(losses[:SHOWN]))


def _notes(losses: Losses, run: Run, most_rows: int) -> list[str]:
    notes = ["Outputs were scaled by each client for itself; inputs by one range that all share."]
    if len(losses) > SHOWN:
        notes.append(f"{len(losses) - SHOWN:,} more clients are not shown.")
    worse = [name for name, _, before, after in losses if after > before]
    if worse:
        notes.append(
            f"The shared prior explains {len(worse)} of {len(losses)} clients worse than the start did "
            f"(such as {worse[0]!r}): they may be too unlike for one prior."
        )
    lonely = [name for name, rows, _, _ in losses if rows == 1]
    if lonely:
        notes.append(
            f"{len(lonely)} clients have one row (such as {lonely[0]!r}), which says nothing of lengths."
        )
    if any(rows > most_rows for _, rows, _, _ in losses):
        notes.append(
            f"Clients with more than {most_rows:,} rows are conditioned on the rows nearest to a place."
        )
    refused = [event for event in run.events() if event["kind"] == "covariance without a factor"]
    if refused:
        notes.append(f"{len(refused)} clients refused steps, because a covariance had no Cholesky factor.")
    return notes
