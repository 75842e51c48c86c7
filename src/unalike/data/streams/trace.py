"""Traces of arrivals, as CSV files.

The header is `round,client,rows` and a line such as `7,3,20` says that client 3 receives 20 rows in round 7:
b_3(7) = 20. Clients and rounds are numbered from 0 and no round is left out (`8,0,0` says that nothing
arrives in round 8); after the last round nothing arrives. Files are parsed as text; nothing is executed.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ...core.text_files import read_text
from ...errors import ConfigError
from ...typing import Int64s
from .arrivals import MOST_ROWS, Arrivals, arrival_registry

HEADER = "round,client,rows"
_WRONG_LINE = re.compile(r"^(?!\d{1,18},\d{1,18},\d{1,18}$).*$", re.MULTILINE | re.ASCII)


class RecordedArrivals(Arrivals):
    """Rows that arrive as a table (round, client, rows) says."""

    def __init__(self, table: ArrayLike, name: str = "the trace") -> None:
        super().__init__()
        self.table = np.asarray(table, np.int64).reshape(-1, 3)
        self.name = name
        _check_rounds(self.table[:, 0], name)
        _check_distinct(self.table, name)
        if self.table[:, 2].max() > MOST_ROWS or self.table.min() < 0:
            raise ConfigError(f"rows of {name} must be between 0 and {MOST_ROWS:,}.")
        self.table = self.table[np.argsort(self.table[:, 0], kind="stable")]

    def begin(self, sizes: Int64s, seed: int) -> None:
        super().begin(sizes, seed)
        rounds, clients, rows = self.table.T
        if clients.max() >= len(sizes):
            raise ConfigError(
                f"{self.name} names client {clients.max()}, but there are {len(sizes)}, numbered from 0."
            )
        total = np.bincount(clients, rows, len(sizes))
        if not total.all():
            raise ConfigError(f"{self.name} never sends anything to client {int(np.argmin(total))}.")
        first = np.bincount(clients[rounds == 0], rows[rounds == 0], len(sizes))
        self.historical = np.minimum(first, sizes) == np.minimum(total, sizes)

    def arrived(self, round: int) -> Int64s:
        return np.minimum(self.sent(round), self.sizes)

    def sent(self, round: int) -> Int64s:
        past = self.table[: np.searchsorted(self.table[:, 0], round, side="right")]
        return np.bincount(past[:, 1], past[:, 2], len(self.sizes)).astype(np.int64)


@arrival_registry.add("trace")
def trace(path: str) -> Arrivals:
    """`trace:FILE` replays a CSV file with lines `round,client,rows`."""
    return RecordedArrivals(read_arrivals(Path(str(path))), f"the trace {Path(str(path)).name}")


def read_arrivals(path: Path) -> Int64s:
    """The table of a file: round, client and rows of every line."""
    text = read_text(path, "trace", f"the header {HEADER} and lines such as 0,3,20")
    header, _, body = text.replace(" ", "").partition("\n")
    if header != HEADER or not body:
        raise ConfigError(f"{path.name} must begin with the line {HEADER}, and lines such as 0,3,20 follow.")
    wrong = _WRONG_LINE.search(body)
    if wrong:
        line = body.count("\n", 0, wrong.start()) + 2
        raise ConfigError(
            f"line {line} of {path.name} is {wrong[0][:40]!r}; three numbers from 0 on belong there."
        )
    return np.array(body.replace("\n", ",").split(","), np.int64).reshape(-1, 3)


def _check_rounds(rounds: Int64s, name: str) -> None:
    numbers = np.unique(rounds)
    if not len(numbers):
        raise ConfigError(f"{name} holds no rounds.")
    gap = np.flatnonzero(numbers != np.arange(len(numbers)))
    if len(gap):
        missing = int(gap[0])
        raise ConfigError(
            f"{name} leaves out round {missing}; say that nothing arrives in it with a line {missing},0,0."
        )


def _check_distinct(table: Int64s, name: str) -> None:
    pairs, counts = np.unique(table[:, :2], axis=0, return_counts=True)
    if counts.max() > 1:
        round, client = pairs[np.argmax(counts)]
        raise ConfigError(f"{name} says twice what client {client} receives in round {round}.")
