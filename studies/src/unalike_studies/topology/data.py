"""Maps, published cycle times, and quadratic losses of the study of topologies."""

from __future__ import annotations

from functools import lru_cache
from itertools import count

import numpy as np

from unalike.data import Federation
from unalike.data.federation import Split
from unalike.data.sources.files import local
from unalike.models import Task, linear
from unalike.topology.overlay import Design, design
from unalike.topology.overlays.matcha import Matcha
from unalike.topology.underlays.connectivity import Connectivity, connect

BEHIND = 1e-12
"""Shares that change less have settled."""


def published_maps() -> dict[str, str]:
    """The maps at hand, by the names of tables: files where there are, or coordinates of cities."""
    files = {"gaia": "gaia.gml", "aws-na": "amazon_us.gml", "geant": "geantdistance.gml"}
    files |= {"exodus": "exodus.gml", "ebone": "ebone.gml"}
    there = {name for name, file in files.items() if local(f"networks/{file}") or local(file)}
    versions = {name: "published" if name in there else "cities" for name in ("gaia", "aws-na")}
    if versions["aws-na"] == "cities":
        versions["aws-na"] = "misplaced"
    full = {name: f"{name}:{version}" for name, version in versions.items()}
    return full | {name: name for name in ("geant", "exodus", "ebone") if name in there}


@lru_cache(maxsize=32)
def network(place: str, access: float, workload: str) -> Connectivity:
    """What silos measure on a map with core links of 1 Gbps."""
    return connect(place, workload, access=access)


@lru_cache(maxsize=128)
def make_design(name: str, place: str, access: float, workload: str) -> Design:
    """A design on a network; matchings are the same whatever the links carry."""
    if name.startswith("matcha") and workload != "sub-inaturalist":
        return make_design(name, place, 1e10, "sub-inaturalist")
    return design(name, network(place, access, workload))


@lru_cache(maxsize=256)
def cycle(
    name: str, place: str, access: float = 1e10, workload: str = "sub-inaturalist", rounds: int = 1000
) -> float:
    """The cycle time of a design on a map."""
    made, where = make_design(name, place, access, workload), network(place, access, workload)
    return made.cycle_time(where, rounds) if isinstance(made, Matcha) else made.cycle_time(where)


def uneven_arcs(silos: int) -> np.ndarray:
    """A ring, and arcs from everyone to the first silo."""
    arcs = np.roll(np.eye(silos, dtype=bool), 1, axis=1)
    arcs[1:, 0] = True
    return arcs


def stationary(rows: np.ndarray) -> np.ndarray:
    """How much each silo counts in the long run under row-stochastic weights."""
    shares = np.full(len(rows), 1 / len(rows))
    for _ in count():
        new = shares @ rows
        if np.abs(new - shares).max() < BEHIND:
            return new
        shares = new
    raise AssertionError


def quadratics(targets: np.ndarray) -> tuple[Federation, Task]:
    """Client i has the loss (theta - target_i)^2 / 2."""
    x, y = np.ones((len(targets), 1), np.float32), targets.astype(np.float32)
    split = Split(x, y, np.arange(len(targets) + 1))
    empty = Split(x[:0], y[:0], np.zeros(len(targets) + 1, np.int64))
    return Federation(split, empty, empty, None), Task.regression(linear(0, input_shape=(1,), outputs=1))
