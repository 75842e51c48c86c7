"""Free-rider monitor report: signals of uploads, and when clients were flagged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..core.figure_style import MUTED, color, figure, label_ends, with_figure_style
from ..runs.record import Record
from ..typing import Array, Document, Float64s, Int64s, Keywords, Row
from .plots import last, line, rounds_axis

if TYPE_CHECKING:
    from ..data import Federation

SIGNALS = {
    "monitor_consecutive": "Cosine of a client's consecutive updates",
    "monitor_normal": "Distance of an update's entries to a Normal",
}
VERDICTS = ("clear", "watched", "quarantined", "excluded")
_MOST_LINES, _MOST_NAMED = 200, 8


def monitor_figures(record: Record, federation: Federation | None = None) -> dict[str, Figure]:
    """Signals of each client over the rounds, where a monitor has measured them."""
    if not record.groups("monitored"):
        return {}
    verdicts = last_verdicts(record)
    return {"Monitor": signal_timelines(record, verdicts, federation)}


def suspects(record: Record, federation: Federation | None = None) -> list[Row]:
    """Clients that were suspected, the worst first: what was decided when, and why."""
    events = [event for event in record.events() if event.get("reasons") and event["client"] is not None]
    first: dict[int, Document] = {}
    for event in events:
        first.setdefault(int(event["client"]), event)
    verdicts = last_verdicts(record)
    rows = [
        {
            "client": name_of(client, federation),
            "verdict": VERDICTS[int(verdicts.get(client, 0))],
            "suspected in round": event["round"],
            "reasons": ", ".join(event["reasons"]),
            "digest of the upload": str(event.get("digest") or "")[:16],
        }
        for client, event in first.items()
    ]
    return sorted(rows, key=lambda row: (-VERDICTS.index(row["verdict"]), row["suspected in round"]))


@with_figure_style
def signal_timelines(
    record: Record, verdicts: dict[int, int], federation: Federation | None = None
) -> Figure:
    """A line per client and signal: suspects in color and by name, the others faint."""
    picture = figure(8.8, 3.2)
    shown = sorted(verdicts, key=lambda client: -verdicts[client])[:_MOST_LINES]
    for axes, (name, words) in zip(picture.subplots(1, 2), SIGNALS.items(), strict=True):
        for client in reversed(shown):
            rounds, values = signal_of(record, name, client)
            style: Keywords = {"color": MUTED, "linewidth": 0.6, "alpha": 0.5}
            if verdicts[client]:
                style = {"color": _hue(verdicts[client]), "linewidth": 1.4}
            line(axes, rounds, values, **style)
        _name_suspects(axes, record, name, verdicts, federation)
        axes.set_title(words)
        rounds_axis(axes)
    return picture


def signal_of(record: Record, name: str, client: int) -> tuple[Int64s, Float64s]:
    """The rounds in which a client was measured, and the signal."""
    seen, values = record.groups("monitored"), record.groups(name)
    found = [
        (round, float(values[round][np.flatnonzero(clients == client)[0]]))
        for round, clients in seen.items()
        if round in values and (clients == client).any()
    ]
    return np.array([r for r, _ in found], np.int64), np.array([v for _, v in found])


def last_verdicts(record: Record) -> dict[int, int]:
    """The last verdict on every client that was ever measured."""
    seen: dict[int, Array] = record.groups("monitored")
    said = record.groups("monitor_verdict")
    return {
        int(client): int(verdict)
        for round, clients in seen.items()
        for client, verdict in zip(clients, said.get(round, ()), strict=False)
    }


def name_of(client: int, federation: Federation | None) -> str:
    """What a client is called."""
    return str(client) if federation is None else str(federation.name(client))


def _name_suspects(
    axes: Axes, record: Record, signal: str, verdicts: dict[int, int], federation: Federation | None
) -> None:
    worst = sorted((c for c in verdicts if verdicts[c]), key=lambda c: -verdicts[c])[:_MOST_NAMED]
    measured = [(client, last(signal_of(record, signal, client)[1])) for client in worst]
    shown = [(client, end) for client, end in measured if np.isfinite(end)]
    label_ends(
        axes,
        [end for _, end in shown],
        [f"{name_of(client, federation)} {VERDICTS[verdicts[client]]}" for client, _ in shown],
        [_hue(verdicts[client]) for client, _ in shown],
    )


def _hue(verdict: int) -> str:
    return color(1 if verdict > 1 else 4)
