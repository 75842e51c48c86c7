"""CSV files of availability traces.

As CSV: the header `round,client` and a line for everyone who is there in a round, such as `7,3`; the line
`8,` says that nobody is there in round 8. Or as JSON: one list of client numbers per round. Clients and
rounds are numbered from 0 and no round is left out. Files are parsed as text; nothing in them is executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...core.text_files import read_text
from ...errors import ConfigError
from ...typing import Bools, ClientIds

HEADER = "round,client"
NOBODY = -1
_WRONG_LINE = re.compile(r"^(?!\d{1,18},\d{0,18}$).*$", re.MULTILINE | re.ASCII)
Where = Callable[[int], str]
"""The place of an entry, in words."""


def read_trace(path: Path, clients: int) -> tuple[ClientIds, ClientIds, int]:
    """Rounds and clients of all who are there, and the number of rounds."""
    text = read_text(path, "trace", f"the header {HEADER} and lines such as 0,3")
    read = _from_json if path.suffix == ".json" else _from_csv
    rounds, who, where = read(text, path.name, clients)
    _check_clients(who, clients, where)
    _check_rounds(rounds, where)
    _check_distinct(rounds, who, clients, where)
    there = who != NOBODY
    return rounds[there], who[there], int(rounds.max()) + 1


def write_trace(path: str | Path, presence: ArrayLike) -> None:
    """Record who was there: one row per round, one column per client; `.json`, or CSV for any other name."""
    path = Path(path)
    rows = [np.flatnonzero(row).tolist() for row in check_presence(presence)]
    if path.suffix == ".json":
        text = json.dumps(rows)
    else:
        lines = [line for round, row in enumerate(rows) for line in _lines(round, row)]
        text = "\n".join([HEADER, *lines])
    path.write_text(text + "\n", encoding="utf-8")


def _lines(round: int, row: list[int]) -> list[str]:
    return [f"{round},{client}" for client in row] or [f"{round},"]


def check_presence(presence: ArrayLike) -> Bools:
    """The same table, if it holds true and false for rounds (rows) and clients (columns)."""
    there = np.asarray(presence)
    if there.ndim != 2 or there.dtype != np.bool_ or not there.size:
        raise ConfigError(
            "a trace must be a table of true and false with one row per round and one column per client, not "
            f"{there.dtype} of shape {there.shape}."
        )
    return there


def _from_csv(text: str, name: str, clients: int) -> tuple[ClientIds, ClientIds, Where]:
    header, _, body = text.replace(" ", "").partition("\n")
    if header != HEADER:
        raise ConfigError(f"line 1 of {name} must be the header {HEADER}, but is {header[:40]!r}.")
    if not body:
        raise ConfigError(f"the trace {name} has a header but no rounds; it needs lines such as 0,3.")
    wrong = _WRONG_LINE.search(body)
    if wrong:
        line = body.count("\n", 0, wrong.start()) + 2
        raise ConfigError(
            f"line {line} of {name} is {wrong[0][:40]!r}; it must be two whole numbers from 0 on, "
            "round,client, or round, alone if nobody is there."
        )
    numbers = (body + "\n").replace(",\n", f",{NOBODY}\n").replace("\n", ",")
    table = np.fromstring(numbers[:-1], np.int64, sep=",").reshape(-1, 2)
    return table[:, 0], table[:, 1], lambda row: f"line {row + 2} of {name}"


def _from_json(text: str, name: str, clients: int) -> tuple[ClientIds, ClientIds, Where]:
    rows = _parse_lines(text, name)
    for round, row in enumerate(rows):
        _check_row(round, row, name, clients)
    who = np.array([client for row in rows for client in row or [NOBODY]], np.int64)
    rounds = np.repeat(np.arange(len(rows)), [max(len(row), 1) for row in rows])
    return rounds, who, lambda place: f"round {rounds[place]} of {name}"


def _parse_lines(text: str, name: str) -> list[Any]:
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the trace {name} is not JSON ({error}).") from None
    if not isinstance(rows, list) or not rows:
        raise ConfigError(f"the trace {name} must be a list with one list of client numbers per round.")
    return rows


def _check_row(round: int, row: Any, name: str, clients: int) -> None:
    if not isinstance(row, list):
        raise ConfigError(
            f"round {round} of {name} must be a list of client numbers, but is {str(row)[:40]!r}."
        )
    wrong = [client for client in row if type(client) is not int or not 0 <= client < clients]
    if wrong:
        raise ConfigError(
            f"round {round} of {name} holds {str(wrong[0])[:40]!r}; clients are whole numbers from 0 to "
            f"{clients - 1}."
        )


def _check_clients(who: ClientIds, clients: int, where: Where) -> None:
    wrong = np.flatnonzero(who >= clients)
    if len(wrong):
        raise ConfigError(
            f"{where(wrong[0])} names client {who[wrong[0]]}, but there are {clients}, numbered from 0."
        )


def _check_rounds(rounds: ClientIds, where: Where) -> None:
    numbers, first = np.unique(rounds, return_index=True)
    gap = np.flatnonzero(numbers != np.arange(len(numbers)))
    if len(gap):
        missing = gap[0]
        raise ConfigError(
            f"{where(first[missing])} names round {numbers[missing]}, but there is no round {missing}; "
            f"rounds are numbered from 0 without gaps (the line {missing}, says that nobody is there)."
        )


def _check_distinct(rounds: ClientIds, who: ClientIds, clients: int, where: Where) -> None:
    place = rounds * (clients + 1) + (who - NOBODY)
    order = np.argsort(place, kind="stable")
    twice = order[1:][np.diff(place[order]) == 0]
    if len(twice):
        row = twice.min()
        whom = "nobody" if who[row] == NOBODY else f"client {who[row]}"
        raise ConfigError(f"{where(row)} repeats that {whom} is there in round {rounds[row]}.")
    contradicted = np.flatnonzero((who == NOBODY) & np.isin(rounds, rounds[who != NOBODY]))
    if len(contradicted):
        row = contradicted[0]
        raise ConfigError(
            f"{where(row)} says that nobody is there in round {rounds[row]}, but other lines name clients."
        )
