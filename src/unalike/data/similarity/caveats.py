"""Warnings about the messages and edges of a similarity graph.

Messages that give clients away, clients without a direction or with few rows, twins, and signs that are wrong
or chance: for features x >= 0 no two messages may be more than a right angle apart,

    mis(i, j) <= 1/2,

and where features are centered, nothing says which of the two signs of a direction is meant.
"""

from __future__ import annotations

import numpy as np

from ...typing import ClientIds, Float64s, Int64s
from ..federation import Federation
from .graph import SMALLEST, adjacency
from .homogeneity import homogeneity
from .misalignment import RIGHT_ANGLE, misalignment, pairs
from .private_messages import WARNING

FEW_ROWS = 30
"""Clients with fewer rows are unlike others by chance."""
NAMED = 3
"""Clients that are called by name; of more only the number is told."""


def client_caveats(federation: Federation, clients: ClientIds, privacy: str | None, unsure: int) -> list[str]:
    """About the clients behind the messages."""
    found = [WARNING] if privacy is None else []
    if len(missing := np.setdiff1d(np.arange(len(federation)), clients)):
        names = ", ".join(federation.name(int(i)) for i in missing[:NAMED])
        more = f" and {len(missing) - NAMED:,} more" if len(missing) > NAMED else ""
        found.append(f"Left out, because they have no rows, or only zeros: {names}{more}.")
    if few := int((federation.train.sizes[clients] < FEW_ROWS).sum()):
        found.append(
            f"{few:,} clients have fewer than {FEW_ROWS} rows, which makes them unlike others by chance."
        )
    if unsure:
        found.append(
            f"{unsure:,} clients have centered features: the sign of their message is chance, and "
            "homogeneity says little; do not center features, or judge by other measures."
        )
    return found


def edge_caveats(misalignments: Float64s, degrees: Float64s, sign_alarm: bool) -> list[str]:
    """About pairs of clients."""
    edges, found = pairs(misalignments), []
    if twins := int((edges <= SMALLEST).sum()):
        found.append(f"{twins:,} pairs of clients point in the same direction exactly: duplicates?")
    if sign_alarm and (wrong := int((edges > RIGHT_ANGLE + 1e-9).sum())):
        found.append(
            f"{wrong:,} pairs point away from each other although no feature is negative: signs of messages "
            "are wrong, and homogeneity is too low."
        )
    if len(degrees) > 1 and (lonely := int((degrees <= 0).sum())):
        found.append(f"{lonely:,} clients have no edge to anybody and count nothing.")
    return found


def privacy_cost(plain: Float64s, sent: Float64s, places: Int64s, privacy: str) -> list[str]:
    """What blurring does to homogeneity, which only a simulation can tell."""
    if len(places) < 2:
        return []
    before, after = (homogeneity(adjacency(misalignment(table[places]))) for table in (plain, sent))
    return [f"{privacy} moves homogeneity by {after - before:+.3f}, from {before:.3f} to {after:.3f}."]


def never_negative(federation: Federation) -> bool:
    """Whether no training feature is negative."""
    x = federation.train.x
    return x.dtype == np.uint8 or bool(x.min(initial=0.0) >= 0)
