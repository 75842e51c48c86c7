"""Settings of the topology."""

from __future__ import annotations

from ..core.settings import Settings, setting


class NetworkSettings(Settings):
    """Silos that exchange models without a server."""

    network: str | None = setting(
        None,
        "Overlay on which silos exchange models without a server (decentralized training; `unalike list "
        "networks`).",
        group="Network",
        unlearning=False,
        kind="networks",
        served="refused",
        decides_rows=True,
    )
    underlay: str = setting(
        "gaia",
        "Map of the silos, or a GML or CSV file (`unalike list underlays`).",
        group="Network",
        served="simulation",
        decides_rows=True,
    )
    access: float = setting(
        10.0,
        "Capacity of silos' access links, in gigabits per second.",
        group="Network",
        served="simulation",
        gt=0,
    )
    core: float = setting(
        1.0,
        "Capacity of the links between routers, in gigabits per second.",
        group="Network",
        served="simulation",
        gt=0,
    )
    workload: str | None = setting(
        None,
        "Size of a model and duration of a step (`unalike list workloads`); the trained model's size and 10"
        " ms when not given.",
        group="Network",
        kind="workloads",
        served="simulation",
    )
