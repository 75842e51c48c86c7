"""Study of engines: is the model the same wherever clients compute?

The same experiments on this machine, on workers of a Ray cluster, and between Flower nodes that keep their
rows; and once more with a worker killed, and with a server killed and resumed. Ray's workers, Flower's
SuperLink and its SuperNodes are real processes on this machine.
"""

from __future__ import annotations

from ..study import Claim, study_registry
from .training import training_claims


@study_registry.add("engines")
def engines(quick: bool = False) -> list[Claim]:
    """The same model on one machine, on a Ray cluster and between Flower nodes; faults leave no trace."""
    return training_claims(quick)
