"""Participation report: who was available, used, and left out?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..runs.record import Record
from ..typing import Int64s, Row
from .participation_plots import availability_timeline, classes_per_round

if TYPE_CHECKING:
    from ..data import Federation

AWAY, THERE, USED, EXCLUDED = range(4)
_NOBODY = np.zeros(0, np.int64)
_MOST_SHOWN = 10


def participation_figures(record: Record, federation: Federation | None) -> dict[str, Figure]:
    """The timeline of clients that come and go, and the classes that rounds saw, where there are any."""
    figures: dict[str, Figure] = {}
    if federation is None:
        return figures
    if record.groups("available"):
        rounds, codes = timeline(record, len(federation))
        names = [federation.name(i) for i in range(len(federation))]
        figures["Presence"] = availability_timeline(rounds, codes, names)
    seen = classes_seen(record, federation)
    if len(seen) > 1 and min(seen.values()) < (federation.classes or 0):
        figures["Classes"] = classes_per_round(
            list(seen), {"classes": list(seen.values())}, classes=federation.classes
        )
    return figures


def timeline(record: Record, clients: int) -> tuple[Int64s, NDArray[np.int8]]:
    """The rounds, and for every client and round whether it was away, there, used or excluded."""
    groups = {name: record.groups(name) for name in ("available", "used", "excluded")}
    rounds = np.array(sorted(groups["available"]), np.int64)
    codes = np.zeros((clients, len(rounds)), np.int8)
    for column, number in enumerate(rounds.tolist()):
        there = groups["available"][number]
        codes[there, column] = THERE
        codes[np.intersect1d(there, groups["excluded"].get(number, [])).astype(np.int64), column] = EXCLUDED
        codes[groups["used"].get(number, there[:0]), column] = USED
    return rounds, codes


def classes_seen(record: Record, federation: Federation) -> dict[int, int]:
    """How many classes the rows of each round's clients have, round by round."""
    if not federation.classes:
        return {}
    holds = federation.label_counts() > 0
    return {
        number: int(holds[clients].any(axis=0).sum()) for number, clients in record.groups("used").items()
    }


def most_excluded(record: Record, federation: Federation | None, count: int = _MOST_SHOWN) -> list[Row]:
    """The clients that were left out most often, with how often each was there and used."""
    rounds = {name: record.groups(name) for name in ("excluded", "available", "used")}
    if federation is None or not any(len(clients) for clients in rounds["excluded"].values()):
        return []
    totals = {
        # Large groups are counted in the record, not listed: a group may be in no round at all.
        name: np.bincount(np.concatenate([_NOBODY, *listed.values()]), minlength=len(federation))
        for name, listed in rounds.items()
    }
    order = np.argsort(-totals["excluded"], kind="stable")[:count]
    return [
        {
            "client": federation.name(int(i)),
            "rounds left out": int(totals["excluded"][i]),
            "rounds there": int(totals["available"][i]),
            "rounds used": int(totals["used"][i]),
        }
        for i in order
        if totals["excluded"][i]
    ]
