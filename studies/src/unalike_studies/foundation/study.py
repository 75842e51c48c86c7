"""Study of foundations: identities of averaging.

Identities and closed forms that every later method stands on: federated averaging of one client is plain
descent, the proximal term vanishes with its weight, control variates remove client drift where averaging
has a bias known in closed form, and neither the number of cores nor the engine changes the answer.
"""

from __future__ import annotations

from ..study import Claim, study_registry
from .training import training_claims


@study_registry.add("foundation")
def foundation(quick: bool = False) -> list[Claim]:
    """Plain descent, the averaging identity, client drift in closed form, equal answers on any number of
    cores."""
    return training_claims(quick)
