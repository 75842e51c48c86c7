"""Measured client times, read from a file.

`times:PATH` is one number of seconds per client, separated by commas, spaces or line ends: client i always
takes the i-th of them. `trace:PATH` is CSV with the header `client,seconds` and a line for every measured
job, such as `3,0.84`: the jobs of client i take its times in the order of the file, again and again,

    time of job j = times_i[j mod len(times_i)].

Times count in whole nanoseconds. Files are parsed as text; nothing in them is executed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...core.text_files import read_text
from ...errors import ConfigError
from ...typing import Bools, ClientIds, Float64s, Int64s
from .hardware import FINE, Hardware, Ticks, hardware_registry

_WORDS = "file of times", "the measured times of clients"
HEADER = "client,seconds"
LONGEST = 1e8
"""Seconds of the longest job, about three years: the clock's ticks must fit into 64 bits."""
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_WORD = re.compile(r"[^\s,]+")
_WRONG_WORD = re.compile(rf"(?<![^\s,])(?!{_NUMBER}(?:[\s,]|\Z))[^\s,]+", re.ASCII)
_WRONG_LINE = re.compile(rf"^(?!\d{{1,9}},{_NUMBER}$).*$", re.MULTILINE | re.ASCII)


class TraceTimes(Hardware):
    """Measured times of each client's jobs, replayed in order, and again from the first when they end.

    >>> replayed = TraceTimes([[1.5, 0.5], [2.0]])
    >>> replayed.ticks(np.array([0, 0, 0, 1]), np.array([0, 1, 2, 7])) / replayed.resolution
    array([1.5, 0.5, 1.5, 2. ])
    >>> replayed.mean, replayed.chance_within(1)
    (array([1., 2.]), array([0.5, 0. ]))
    """

    resolution = FINE

    def __init__(self, times: Sequence[ArrayLike]) -> None:
        each = [np.atleast_1d(np.asarray(some, np.float64)) for some in times]
        owner = np.repeat(np.arange(len(each)), [len(some) for some in each])
        self._take(owner, np.concatenate([np.zeros(0), *each]), len(each))

    @classmethod
    def listed(cls, clients: ArrayLike, seconds: ArrayLike, count: int) -> TraceTimes:
        """From pairs of a client and a measured time, in the order in which each client's are replayed."""
        trace = cls.__new__(cls)
        trace._take(np.asarray(clients, np.int64), np.asarray(seconds, np.float64), count)
        return trace

    def _take(self, owner: ClientIds, seconds: Float64s, count: int) -> None:
        wrong = np.flatnonzero(_wrong(seconds))
        if len(wrong):
            place = wrong[0]
            raise ConfigError(f"{_allowed_formats()}, but one of client {owner[place]} is {seconds[place]}.")
        if len(owner) and not 0 <= owner.min() <= owner.max() < count:
            stranger = owner.min() if owner.min() < 0 else owner.max()
            raise ConfigError(f"a time is of client {stranger}, but there are {count}, numbered from 0.")
        self.counts = np.bincount(owner, minlength=count)
        """How many times were measured of each client."""
        missing = np.flatnonzero(self.counts == 0)
        if len(missing):
            raise ConfigError(f"client {missing[0]} has no measured time; every client needs at least one.")
        order = np.argsort(owner, kind="stable")
        self._owner, self._each = owner[order], _ticks(seconds[order])
        self._first = np.cumsum(self.counts) - self.counts
        self.mean = np.bincount(owner, seconds, count) / self.counts
        self.fixed = bool((self._each == self._each[self._first[self._owner]]).all())

    def ticks(self, clients: ClientIds, jobs: Int64s) -> Ticks:
        return self._each[self._first[clients] + jobs % self.counts[clients]]

    def chance_within(self, time: float | Float64s) -> Float64s:
        """The share of each client's measured times that are at most this long (or at most its own time)."""
        limit = np.broadcast_to(np.rint(np.asarray(time) * FINE), len(self.counts))
        in_time = self._each <= limit[self._owner]
        return np.bincount(self._owner, in_time, len(self.counts)) / self.counts

    def mean_windows(self, window: float, longest: float = np.inf) -> Float64s:
        lasting = np.minimum(self._each, np.rint(longest * FINE)) / np.rint(window * FINE)
        return np.bincount(self._owner, np.ceil(lasting), len(self.counts)) / self.counts


def read_times(path: str | Path) -> Float64s:
    """Positive numbers of seconds, separated by commas, spaces or line ends."""
    path = Path(path)
    text = read_text(path, *_WORDS)
    wrong = _WRONG_WORD.search(text)
    if wrong:
        raise ConfigError(f"{_place(text, wrong, path)} holds {_short(wrong[0])}; {_allowed_formats()}.")
    seconds = np.array(_WORD.findall(text), np.float64)
    bad = np.flatnonzero(_wrong(seconds))
    if len(bad):
        word = list(_WORD.finditer(text))[bad[0]]
        raise ConfigError(f"{_place(text, word, path)} holds {_short(word[0])}; {_allowed_formats()}.")
    return seconds


def read_measured(path: str | Path, clients: int) -> tuple[ClientIds, Float64s]:
    """The clients and the seconds of all measured jobs, in the order of the file."""
    path = Path(path)
    header, _, body = read_text(path, *_WORDS).replace(" ", "").replace("\r", "").partition("\n")
    if header != HEADER:
        raise ConfigError(f"line 1 of {path.name} must be the header {HEADER}, but is {_short(header)}.")
    if not body:
        raise ConfigError(f"{path.name} has a header but no times; it needs lines such as 0,0.84.")
    wrong = _WRONG_LINE.search(body)
    if wrong:
        raise ConfigError(
            f"{_place(body, wrong, path, 2)} is {_short(wrong[0])}; it must be a client's number and "
            "seconds, such as 0,0.84."
        )
    table = np.fromstring(body.replace("\n", ","), np.float64, sep=",").reshape(-1, 2)
    owner, seconds = table[:, 0].astype(np.int64), table[:, 1]
    _check_lines(path, owner, seconds, clients)
    return owner, seconds


@hardware_registry.add("times")
def times(path: str, *, clients: int) -> TraceTimes:
    """One measured time per client from a text file; every job takes that long."""
    seconds = read_times(str(path))
    if len(seconds) != clients:
        raise ConfigError(f"{path} has {len(seconds)} times, but there are {clients} clients.")
    return TraceTimes.listed(np.arange(clients), seconds, clients)


@hardware_registry.add("trace")
def trace(path: str, *, clients: int) -> TraceTimes:
    """Measured times of jobs from a CSV file with lines `client,seconds`, replayed in order, repeating."""
    return TraceTimes.listed(*read_measured(str(path), clients), clients)


def _ticks(seconds: Float64s) -> Ticks:
    return np.maximum(np.rint(seconds * FINE), 1).astype(np.int64)


def _wrong(seconds: Float64s) -> Bools:
    return ~((seconds > 0) & (seconds <= LONGEST))


def _allowed_formats() -> str:
    return f"times must be positive numbers of seconds, at most {LONGEST:.0e}"


def _check_lines(path: Path, owner: ClientIds, seconds: Float64s, clients: int) -> None:
    """Clients that exist, each at least once, and times that can be."""
    strangers, bad = np.flatnonzero(owner >= clients), np.flatnonzero(_wrong(seconds))
    if len(strangers):
        line, client = strangers[0] + 2, owner[strangers[0]]
        raise ConfigError(
            f"line {line} of {path.name} names client {client}, but there are {clients}, numbered from 0."
        )
    if len(bad):
        raise ConfigError(
            f"line {bad[0] + 2} of {path.name} holds {seconds[bad[0]]:g}; {_allowed_formats()}."
        )
    missing = np.flatnonzero(np.bincount(owner, minlength=clients) == 0)
    if len(missing):
        raise ConfigError(f"{path.name} has no time of client {missing[0]}; every client needs at least one.")


def _place(text: str, found: re.Match[str], path: Path, first: int = 1) -> str:
    return f"line {text.count(chr(10), 0, found.start()) + first} of {path.name}"


def _short(word: Any) -> str:
    return repr(str(word)[:40])
