"""Connectivity graph of silos: measured latency and available bandwidth (Marfoq, Xu, Neglia, Vidal,
Throughput-Optimal Topology Design for Cross-Silo Federated Learning, 2020).

Between every two silos: the latency and the bandwidth that is left on the way. At every silo: the capacity of
its access link, up and down, and the time of one local step. From a map of links they follow as

    latency (ms)  =  0.0085 * km + 4,        bandwidth  =  capacity of core links / links on the way.

The constant of 4 ms is added once per path, or once per link; the bandwidth is shared by hops, or is that of
the narrowest link. The defaults are those with which published cycle times come out again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError, DataError
from ...typing import Float64s
from ..graphs import Graph
from ..strong_connectivity import check_strong
from .base import Underlay, underlay_of
from .workloads import Workload, workload_of

MS_PER_KM = 0.0085
MS_PER_PATH = 4.0
GIGABIT = 1e9


@dataclass(frozen=True, eq=False)
class Connectivity:
    """Measured figures of a network, and the workload that it carries.

    Latencies are in ms (infinite where silo i cannot send to silo j), capacities in bit/s, `compute` is the
    time of one local step in ms, and `bits` the size of a model.
    """

    names: tuple[str, ...]
    latency: Float64s
    bandwidth: Float64s
    uplink: Float64s
    downlink: Float64s
    compute: Float64s
    bits: float
    local_steps: int = 1
    coordinates: Float64s | None = field(default=None, repr=False)
    links: Graph | None = field(default=None, repr=False)
    """Which silos are linked on the map, where there is a map."""

    def __post_init__(self) -> None:
        check_connectivity(self)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def possible(self) -> Graph:
        """Which silo (row) can send to which (column)."""
        return np.isfinite(self.latency) & ~np.eye(len(self), dtype=bool)

    @property
    def complete(self) -> bool:
        """Whether everyone can send to everyone."""
        return bool(self.possible.sum() == len(self) * (len(self) - 1))

    def with_workload(self, workload: str | Workload, local_steps: int | None = None) -> Connectivity:
        """The same network for another model."""
        chosen = workload_of(workload)
        steps = self.local_steps if local_steps is None else local_steps
        compute = np.full(len(self), float(chosen.compute))
        return replace(self, bits=chosen.bits, compute=compute, local_steps=steps)

    def with_local_steps(self, local_steps: int) -> Connectivity:
        """The same network with more or fewer local steps between exchanges."""
        return replace(self, local_steps=local_steps)

    def without(self, name: str) -> Connectivity:
        """The network after one silo has failed."""
        keep = np.array([other != name for other in self.names])
        if keep.all():
            raise ConfigError(f"there is no silo {name!r} to leave out.")
        pairs = np.ix_(keep, keep)
        return replace(
            self,
            names=tuple(other for other in self.names if other != name),
            latency=self.latency[pairs],
            bandwidth=self.bandwidth[pairs],
            uplink=self.uplink[keep],
            downlink=self.downlink[keep],
            compute=self.compute[keep],
            coordinates=None if self.coordinates is None else self.coordinates[keep],
            links=None if self.links is None else self.links[pairs],
        )


def connect(
    underlay: str | Path | Underlay,
    workload: str | Workload = "sub-inaturalist",
    *,
    local_steps: int = 1,
    core: float | None = GIGABIT,
    access: ArrayLike = 10 * GIGABIT,
    faster: Mapping[str, float] | None = None,
    slower_compute: Mapping[str, float] | None = None,
    latency_offset: str = "per-path",
    core_share: str = "by-hops",
    seed: int = 0,
) -> Connectivity:
    """What silos would measure on a map.

    `core` is the capacity of core links in bit/s (None takes those of the map), `access` that of access
    links; `faster` names silos with an access capacity of their own, and `slower_compute` silos with another
    time per step (ms).

    >>> mesh = connect("gaia", "femnist", access=1e9)
    >>> len(mesh), float(mesh.latency.max().round()), float(mesh.bandwidth.min())
    (11, 162.0, 1000000000.0)
    """
    place, chosen = underlay_of(underlay, seed), workload_of(workload)
    rate = per_silo(access, place.names, faster, "access capacity")
    return Connectivity(
        names=place.names,
        latency=_latency(place, latency_offset),
        bandwidth=_bandwidth(place, core, core_share),
        uplink=rate,
        downlink=rate,
        compute=per_silo(chosen.compute, place.names, slower_compute, "time per step"),
        bits=chosen.bits,
        local_steps=local_steps,
        coordinates=place.coordinates,
        links=place.graph,
    )


def _latency(underlay: Underlay, offset: str) -> Float64s:
    if offset not in ("per-path", "per-link"):
        raise ConfigError(f"latency_offset is 'per-path' or 'per-link', not {offset!r}.")
    km, hops, _ = underlay.routes
    latency = MS_PER_KM * km + MS_PER_PATH * (hops if offset == "per-link" else 1.0)
    return np.asarray(np.where(np.eye(len(underlay), dtype=bool), 0.0, latency))


def _bandwidth(underlay: Underlay, core: float | None, share: str) -> Float64s:
    if share not in ("by-hops", "min-link"):
        raise ConfigError(f"core_share is 'by-hops' or 'min-link', not {share!r}.")
    if core is None and underlay.capacity is None:
        raise ConfigError("the map has no capacities of links; give the capacity of core links in bit/s.")
    _, hops, narrowest = underlay.routes
    capacity = narrowest if core is None else np.full(hops.shape, float(core))
    shared = capacity / np.maximum(hops, 1) if share == "by-hops" else capacity
    return np.asarray(np.where(np.eye(len(underlay), dtype=bool), np.inf, shared))


def per_silo(
    value: ArrayLike, names: tuple[str, ...], own: Mapping[str, float] | None = None, what: str = "value"
) -> Float64s:
    """One number for every silo: the same for all, one each, and those with a value of their `own`."""
    given = np.asarray(value, np.float64)
    if given.shape not in ((), (len(names),)):
        raise ConfigError(f"{what}: there are {len(names)} silos, but {given.size} values.")
    figures = np.broadcast_to(given, (len(names),)).copy()
    for name, figure in (own or {}).items():
        if name not in names:
            raise ConfigError(f"{what}: there is no silo {name!r}; there are {', '.join(names[:8])}...")
        figures[names.index(name)] = figure
    return figures


def check_connectivity(given: Connectivity) -> None:
    """A `DataError` where figures make no sense, or some silo cannot be reached."""
    size = len(given.names)
    for what in ("latency", "bandwidth"):
        if getattr(given, what).shape != (size, size):
            raise DataError(f"{what} of {size} silos is a table of that size.")
    for what in ("uplink", "downlink", "compute"):
        if getattr(given, what).shape != (size,):
            raise DataError(f"{what} of {size} silos is a list of that length.")
    possible = given.possible
    _refuse(given, possible & ~(given.latency >= 0), "the latency must not be negative")
    _refuse(given, np.isnan(given.latency), "the latency is not a number")
    _refuse(given, possible & ~(given.bandwidth > 0), "the bandwidth must be positive")
    for what in ("uplink", "downlink"):
        _refuse(given, np.diag(~(getattr(given, what) > 0)), f"the capacity of the {what} must be positive")
    fine = (given.compute >= 0) & np.isfinite(given.compute)
    _refuse(given, np.diag(~fine), "the time of a step must be a number that is not negative")
    if not (given.bits >= 0 and np.isfinite(given.bits) and given.local_steps >= 0):
        raise ConfigError("the size of a model and the number of local steps must not be negative.")
    if size < 1:
        raise DataError("there are no silos.")
    check_strong(possible, given.names, "the connectivity graph")


def _refuse(given: Connectivity, wrong: Graph, why: str) -> None:
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        where = f"silo {given.names[i]!r}" if i == j else f"{given.names[i]!r} to {given.names[j]!r}"
        raise DataError(f"{where}: {why}.")
