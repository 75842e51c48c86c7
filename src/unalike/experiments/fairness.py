"""Fairness measures of runs and comparisons.

spread         of the judged metric over clients, on test rows
with groups    worst group, discrepancy, and the spread of training losses between groups
who pays       clients (and groups) that are worse off than with a reference method, and who gains
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..runs.fairness import gains, group_means, group_measures, loss_spread
from ..training.run import Run
from ..typing import Array, Float64s, Row

LOSS_SPREAD = "loss_spread"
LOWER_IS_FAIRER = ("spread", "discrepancy", LOSS_SPREAD)
GROUP_MEASURES = ("worst_group", "discrepancy", LOSS_SPREAD)


class TrainedRun(Protocol):
    """A run that was trained, now or earlier."""

    @property
    def setting(self) -> Any:
        """Its federation and its task."""

    def metrics(self) -> dict[str, Array]:
        """One column per metric and one row per round."""

    def client_metrics(self) -> dict[str, Array]:
        """One column per metric and one row per client."""


def find_groups(run: TrainedRun, columns: Mapping[str, Array]) -> list[str] | None:
    """The groups of the clients that these columns are of; None where there are no groups."""
    groups = run.setting.federation.groups
    return None if groups is None else [groups[int(i)] for i in columns["client"]]


def record_loss_spread(run: Run) -> None:
    """Write how far training losses of groups are apart into the record of a run that has groups: it takes a
    look at all training rows, which who reads the run later cannot have."""
    columns = run.client_metrics()
    groups = find_groups(run, columns)
    if groups is not None:
        losses = run.evaluate("train")["loss"][columns["client"]]
        run.record.write_round(run.rounds, {LOSS_SPREAD: loss_spread(losses, groups)})


def run_fairness(run: TrainedRun, judged: str, higher: bool) -> dict[str, float]:
    """What a run's groups got, where there are groups; losses are those of all training rows."""
    columns = run.client_metrics()
    groups = find_groups(run, columns)
    if groups is None:
        return {}
    spread = float(run.metrics()[LOSS_SPREAD][-1])
    return {**group_measures(columns[judged], groups, higher), LOSS_SPREAD: spread}


def who_pays(
    clients: Mapping[str, Float64s], baseline: str, groups: Sequence[str] | None, higher: bool
) -> list[Row]:
    """A row per method: how many clients gain and pay against the baseline, how the baseline's worst tenth
    fares, and what each group gains on average."""
    reference = np.asarray(clients[baseline], float)
    return [
        {"method": name, **_against(np.asarray(values, float), reference, groups, higher)}
        for name, values in clients.items()
        if name != baseline and len(values) == len(reference)
    ]


def _against(
    own: Float64s, reference: Float64s, groups: Sequence[str] | None, higher: bool
) -> dict[str, str]:
    change = gains(own, reference, higher)
    known = np.isfinite(change)
    worst_first = np.argsort(np.where(known, reference if higher else -reference, np.inf), kind="stable")
    tenth = worst_first[: max(1, int(known.sum()) // 10)]
    row = {
        "clients that gain": str(int((change[known] > 0).sum())),
        "clients that pay": str(int((change[known] < 0).sum())),
        "gain on average": _format_signed(change[known]),
        "gain of the worst tenth": _format_signed(change[tenth]),
        "gain of the others": _format_signed(change[np.setdiff1d(np.flatnonzero(known), tenth)]),
    }
    for group, mean in group_means(change, groups).items() if groups is not None else ():
        row[f"gain of {group}"] = _format_signed(np.array([mean]))
    return row


def _format_signed(values: Float64s) -> str:
    return f"{values.mean():+.4f}" if values.size and np.isfinite(values).all() else "–"
