"""Flags of suspected free-riders, and what follows from their number.

    A  memoryless   mean cosine of consecutive updates < max(0.10, 4 / sqrt(d w)),  peers' median > 0.3
    B  Gaussian     mean KS distance to a Normal < 0.05 + 1.5 / sqrt(d),            peers' median > 3 times
    C  idle or copied   an update of zero, or an upload that another client sent, too
    D  replayed     the update follows the model's own last move (cosine > 0.999) 3 times, or is an old model
    E  useless      no update of the window lowers the loss on the server's own rows, where it has some

    one flag: watch      two: quarantine, weight 0      three, or C: exclude and alert

Means are over a window of w rounds of the client's own; A, B and E are not raised before it is full: a fair
client with few rows is noisy now and then, not all the time. With few parameters cosines scatter, so windows
grow such that d w is never below what 500 parameters give. E finds noise that is large: small noise lowers
the loss about every second time, by chance, as long as the gradient is not zero.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from ...typing import Bools, Float64s, Int64s

MEMORYLESS, COMPANY = 0.10, 0.3
GAUSSIAN, TIMES_LARGER = 0.05, 3.0
REPLAYED, OFTEN = 0.999, 3
FEW_PARAMETERS = 500


class Verdict(IntEnum):
    """What becomes of a client."""

    CLEAR = 0
    WATCH = 1
    QUARANTINE = 2
    EXCLUDE = 3


class Evidence(NamedTuple):
    """What is known of every client."""

    seen: Int64s
    """Updates observed of it."""
    consecutive: Float64s
    """Mean cosine of its consecutive updates over its window; NaN where none is known."""
    normal: Float64s
    """Mean KS distance of its updates to a Normal."""
    caught: Bools
    """Whether it ever sent nothing new, or what another client sent."""
    replays: Int64s
    """How often its update followed the model's last move."""
    gain: Float64s
    """By how much its best update of the window lowered the loss on the server's rows; NaN without such."""


def window_for(rounds: int, parameters: int) -> int:
    """Rounds in a window: as asked, or more where there are few parameters.

    >>> window_for(5, 10_000), window_for(5, 100)
    (5, 25)
    """
    return -(-rounds * max(FEW_PARAMETERS, parameters) // max(parameters, 1))


def raise_flags(known: Evidence, window: int, parameters: int, normality: bool = True) -> dict[str, Bools]:
    """Which flags each client has raised."""
    ready = known.seen >= window
    bound = max(MEMORYLESS, 4 / np.sqrt(parameters * window))
    alone = ready & (known.consecutive < bound) & (peer_medians(known.consecutive) > COMPANY)
    bell = known.normal < GAUSSIAN + 1.5 / np.sqrt(parameters)
    bell &= peer_medians(known.normal) > TIMES_LARGER * known.normal
    return {
        "memoryless": alone,
        "Gaussian": ready & bell & normality,
        "idle or copied": known.caught,
        "replayed": known.replays >= OFTEN,
        "useless": ready & (known.gain <= 0),
    }


def decide(flags: dict[str, Bools]) -> Int64s:
    """What becomes of each client."""
    count = np.sum(list(flags.values()), axis=0)
    return np.where(flags["idle or copied"], Verdict.EXCLUDE, np.minimum(count, Verdict.EXCLUDE))


def peer_medians(values: Float64s) -> Float64s:
    """For each client the median over the others of whom something is known; NaN where there are none.

    >>> peer_medians(np.array([0.0, 1.0, 3.0, np.nan]))
    array([2. , 1.5, 0.5, 1. ])
    """
    known = np.flatnonzero(~np.isnan(values))
    ordered = values[known][np.argsort(values[known], kind="stable")]
    answers = np.full(len(values), np.median(ordered) if len(known) else np.nan)
    place = np.searchsorted(ordered, values[known])
    for client, gone in zip(known, place, strict=True):
        rest = np.delete(ordered, gone)
        answers[client] = np.median(rest) if len(rest) else np.nan
    return answers
