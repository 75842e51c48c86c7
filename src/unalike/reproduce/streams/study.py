"""How much should data that stay count against data that pass?  (Study of data streams.)

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023). Best importances, constants and
bounds are exact; the rest is training.
"""

from __future__ import annotations

from ..study import Claim, study_registry
from .theory import theory_claims
from .training import training_claims


@study_registry.add("streams")
def streams(quick: bool = False) -> list[Claim]:
    """What historical and fresh clients should count, constants and bounds, trainings (DS-1 to DS-15)."""
    return [*theory_claims(quick), *training_claims(quick)]
