"""Built-in maps: Gaia, AWS, Geant, Exodus, Ebone.

Two full meshes between the sites of a cloud provider, from the coordinates of their cities (great-circle
distances), three Internet maps that are read from files (the Internet Topology Zoo, Knight et al., 2011;
Rocketfuel, Spring, Mahajan, Wetherall, 2002), and random ones of any size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...core.random import generator
from ...errors import ConfigError
from ...typing import Float64s
from ..overlays.spanning_trees import prim
from .base import Underlay, load_stored_underlay, underlay_registry

EARTH_KM = 6371.0088
GAIA = {
    "Virginia": (37.1232, -78.4928),
    "California": (36.7015, -118.7560),
    "Oregon": (43.9793, -120.7373),
    "Dublin": (53.3498, -6.2603),
    "Frankfurt": (50.1106, 8.6821),
    "Tokyo": (35.6828, 139.7595),
    "Seoul": (37.5667, 126.9783),
    "Singapore": (1.3571, 103.8195),
    "Sydney": (-33.8548, 151.2165),
    "Mumbai": (19.0760, 72.8777),
    "Sao Paulo": (-23.5507, -46.6334),
}
"""Regions of a cloud on four continents; the three American states are at their centers."""
AWS_NA = {
    "Ashburn": (39.0300, -77.4711),
    "Atlanta": (33.7490, -84.3903),
    "Boston": (42.3554, -71.0605),
    "Chicago": (41.8756, -87.6244),
    "Dallas": (32.7763, -96.7969),
    "Denver": (39.7392, -104.9849),
    "Hayward": (37.6689, -122.0808),
    "Jacksonville": (30.3322, -81.6557),
    "Los Angeles": (34.0537, -118.2428),
    "Miami": (25.7743, -80.1937),
    "Minneapolis": (44.9773, -93.2655),
    "Montreal": (45.4972, -73.6104),
    "New York": (40.7127, -74.0060),
    "Newark": (40.7357, -74.1724),
    "Palo Alto": (37.4443, -122.1598),
    "Phoenix": (33.4484, -112.0741),
    "Philadelphia": (39.9527, -75.1635),
    "San José": (37.3362, -121.8906),
    "Seattle": (47.6038, -122.3301),
    "South Bend": (41.6834, -86.2500),
    "Saint-Louis": (38.6268, -90.1994),
    "Toronto": (43.6535, -79.3839),
}
"""Sites of a cloud in North America."""
SAN_JOSE_COSTA_RICA = (9.9326, -84.0796)
"""Where the published map of North America has its San José."""


@underlay_registry.add("gaia")
def gaia(version: str = "cities") -> Underlay:
    """11 cloud regions on four continents, a full mesh; `gaia:published` reads the published file."""
    return (
        load_stored_underlay("gaia.gml") if _version(version, "gaia") == "published" else great_circles(GAIA)
    )


@underlay_registry.add("aws-na")
def aws_na(version: str = "cities") -> Underlay:
    """22 cloud sites in North America, a full mesh; `aws-na:published` reads the published file, and
    `aws-na:misplaced` has San José in Costa Rica, as that file does."""
    if _version(version, "aws-na", "misplaced") == "published":
        return load_stored_underlay("amazon_us.gml")
    return great_circles(AWS_NA | ({"San José": SAN_JOSE_COSTA_RICA} if version == "misplaced" else {}))


@underlay_registry.add("geant")
def geant() -> Underlay:
    """40 European research networks and 61 links (needs geantdistance.gml)."""
    return load_stored_underlay("geantdistance.gml")


@underlay_registry.add("exodus")
def exodus() -> Underlay:
    """79 routers and 147 links of an American provider (needs exodus.gml)."""
    return load_stored_underlay("exodus.gml")


@underlay_registry.add("ebone")
def ebone() -> Underlay:
    """87 routers and 161 links of a European provider (needs ebone.gml)."""
    return load_stored_underlay("ebone.gml")


@underlay_registry.add("mesh")
def mesh(silos: int = 20, width: float = 3000.0, *, seed: int = 0) -> Underlay:
    """Silos at random places of a square (in km) with a link between every two; `mesh:50,3000`."""
    place = _places(silos, width, seed)
    first, second = np.triu_indices(silos, 1)
    km = np.linalg.norm(place[first] - place[second], axis=1)
    return Underlay(_number_names(silos), np.stack([first, second], axis=1), km, direct=True)


@underlay_registry.add("geometric")
def geometric(silos: int = 50, width: float = 3000.0, *, seed: int = 0) -> Underlay:
    """Silos at random places of a square (in km), each linked with its three nearest and along a shortest
    spanning tree; `geometric:200,3000`."""
    place = _places(silos, width, seed)
    far = np.linalg.norm(place[:, None] - place, axis=2)
    near = np.argsort(far + np.diag(np.full(silos, np.inf)), axis=1)[:, :3][:, : silos - 1]
    pairs = [(i, int(j)) for i in range(silos) for j in near[i]] + _spanning(far)
    links = np.unique(np.sort(np.array(pairs), axis=1), axis=0)
    return Underlay(_number_names(silos), links, far[links[:, 0], links[:, 1]])


def great_circles(cities: dict[str, tuple[float, float]]) -> Underlay:
    """A full mesh between cities, with great-circle distances."""
    place = np.array(list(cities.values()))
    first, second = np.triu_indices(len(place), 1)
    km = great_circle_km(place[first], place[second])
    return Underlay(tuple(cities), np.stack([first, second], axis=1), km, coordinates=place, direct=True)


def great_circle_km(first: ArrayLike, second: ArrayLike) -> Float64s:
    """Kilometers between places given as (latitude, longitude) in degrees, on a round Earth.

    >>> float(great_circle_km((0, 0), (0, 180)).round(1)), float(great_circle_km((90, 0), (0, 77)).round(1))
    (20015.1, 10007.6)
    """
    one, two = np.radians(np.asarray(first, np.float64)), np.radians(np.asarray(second, np.float64))
    up, along = (two - one)[..., 0], (two - one)[..., 1]
    half = np.sin(up / 2) ** 2 + np.cos(one[..., 0]) * np.cos(two[..., 0]) * np.sin(along / 2) ** 2
    return np.asarray(2 * EARTH_KM * np.arcsin(np.sqrt(np.clip(half, 0, 1))))


def _version(given: str, name: str, *more: str) -> str:
    if given not in (allowed := ("cities", "published", *more)):
        raise ConfigError(f"underlay {name!r} has the versions {', '.join(allowed)}, not {given!r}.")
    return given


def _places(silos: int, width: float, seed: int) -> Float64s:
    if not (isinstance(silos, int) and silos >= 2 and width > 0):
        raise ConfigError(
            f"a random underlay needs at least 2 silos and a positive width, not {silos} and {width}."
        )
    return generator(seed, "places of silos", silos).random((silos, 2)) * width


def _number_names(silos: int) -> tuple[str, ...]:
    return tuple(f"silo-{i}" for i in range(silos))


def _spanning(far: Float64s) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in prim(far)]
