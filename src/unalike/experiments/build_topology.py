"""Building the topology of an experiment: silos on a map, an overlay and its clock."""

from __future__ import annotations

from pathlib import Path

from ..algorithms import algorithm_registry
from ..algorithms.push_sum import PushSum
from ..topology import GIGABIT, Connectivity, OnNetwork, connect, designer_registry, read_measurements
from .config import Experiment

STEP_MILLISECONDS = 10.0
"""How long a local step takes where no workload is named."""


def make_connectivity(experiment: Experiment) -> Connectivity:
    """The silos and what lies between them: a map by name, a GML file, or a CSV file of measured pairs."""
    workload = experiment.workload or f"custom:1,{STEP_MILLISECONDS}"
    steps, access = experiment.steps or 1, experiment.access * GIGABIT
    place = experiment.underlay
    if place.endswith(".csv"):
        return read_measurements(Path(place), workload, local_steps=steps, access=access)
    core = experiment.core * GIGABIT
    return connect(place, workload, local_steps=steps, access=access, core=core, seed=experiment.seed)


def make_network_timing(experiment: Experiment) -> OnNetwork:
    """Steps on the overlay that the experiment names."""
    overlay = experiment.spec("network")
    assert overlay is not None
    designer_registry[overlay]
    return OnNetwork(
        overlay.text,
        make_connectivity(experiment),
        push=algorithm_registry[experiment.algorithm] is PushSum,
        own_size=experiment.workload is None,
    )
