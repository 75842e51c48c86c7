"""Measured latencies and bandwidths as an underlay, and the triangle inequality.

A CSV file has one row per ordered pair of silos: `from,to,latency_ms,bandwidth_mbps`. Pairs that are left out
cannot talk (a firewall, say). Guarantees of designers hold where delays are *Euclidean*: the same in both
directions, and never longer than a detour over a third silo.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ...core.text_files import read_text
from ...errors import DataError
from ..delays import design_delays
from .connectivity import GIGABIT, Connectivity, per_silo
from .workloads import Workload, workload_of

COLUMNS = ("from", "to", "latency_ms", "bandwidth_mbps")


def read_measurements(
    path: str | Path,
    workload: str | Workload = "sub-inaturalist",
    *,
    local_steps: int = 1,
    access: ArrayLike = 10 * GIGABIT,
    faster: Mapping[str, float] | None = None,
) -> Connectivity:
    """A network from a CSV file of measured pairs (from, to, latency_ms, bandwidth_mbps)."""
    file = Path(path)
    text = read_text(file, "file of measurements", "the columns " + ", ".join(COLUMNS))
    try:
        rows = list(csv.DictReader(text.splitlines()))
    except csv.Error as error:
        raise DataError(f"{file.name} cannot be read as CSV ({error}).") from None
    if not rows or any(column not in rows[0] for column in COLUMNS):
        raise DataError(f"{file.name} needs rows with the columns {', '.join(COLUMNS)}.")
    names = tuple(dict.fromkeys(_name(row, side) for row in rows for side in ("from", "to")))
    number = {name: i for i, name in enumerate(names)}
    latency = np.where(np.eye(len(names), dtype=bool), 0.0, np.inf)
    bandwidth = np.full(latency.shape, np.inf)
    for line, row in enumerate(rows, start=2):
        i, j = number[_name(row, "from")], number[_name(row, "to")]
        if i == j or np.isfinite(latency[i, j]):
            wrong = "from a silo to itself" if i == j else "measured twice"
            raise DataError(f"line {line} of {file.name}: {names[i]!r} to {names[j]!r} is {wrong}.")
        latency[i, j] = _figure(row, "latency_ms", line, file.name)
        bandwidth[i, j] = 1e6 * _figure(row, "bandwidth_mbps", line, file.name)
    chosen, rate = workload_of(workload), per_silo(access, names, faster, "access capacity")
    compute = np.full(len(names), chosen.compute)
    return Connectivity(names, latency, bandwidth, rate, rate, compute, chosen.bits, local_steps)


def _name(row: Mapping[str, str | None], side: str) -> str:
    return (row[side] or "").strip()


def _figure(row: Mapping[str, str | None], column: str, line: int, file: str) -> float:
    try:
        value = float(row[column] or "")
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise DataError(f"line {line} of {file} has {row[column]!r} as {column}, which is not a number.")
    return value


@dataclass(frozen=True)
class Violation:
    """Why delays are not Euclidean: two silos whose delays differ by direction, or three where the detour
    over the middle one is shorter."""

    silos: tuple[str, ...]
    excess: float
    """Milliseconds by which the rule is broken."""

    def __str__(self) -> str:
        if len(self.silos) == 2:
            return f"{self.silos[0]} to {self.silos[1]} and back differ by {self.excess:.3g} ms"
        return f"{self.silos[0]} to {self.silos[2]} is {self.excess:.3g} ms shorter over {self.silos[1]}"


def euclidean_violation(connectivity: Connectivity, tolerance: float = 1e-9) -> Violation | None:
    """The worst pair or triple that makes the delays d_c not Euclidean, or None where they are.

    >>> from .connectivity import connect
    >>> euclidean_violation(connect("gaia")) is None
    True
    """
    delays = design_delays(connectivity)
    if not connectivity.complete:
        i, j = np.argwhere(~connectivity.possible & ~np.eye(len(delays), dtype=bool))[0]
        return Violation((connectivity.names[i], connectivity.names[j]), np.inf)
    limit = tolerance * max(float(delays.max()), 1e-300)
    gap = np.abs(delays - delays.T)
    if gap.max() > limit:
        i, j = np.unravel_index(int(gap.argmax()), gap.shape)
        return Violation((connectivity.names[i], connectivity.names[j]), float(gap.max()))
    return _triangle(connectivity, delays, limit)


def _triangle(connectivity: Connectivity, delays: np.ndarray, limit: float) -> Violation | None:
    worst, triple = limit, None
    off = np.where(np.eye(len(delays), dtype=bool), 0.0, delays)
    for middle in range(len(delays)):
        excess = off - (off[:, middle, None] + off[middle])
        i, j = np.unravel_index(int(excess.argmax()), excess.shape)
        if excess[i, j] > worst:
            worst, triple = float(excess[i, j]), (i, middle, j)
    return triple and Violation(tuple(connectivity.names[k] for k in triple), worst)
