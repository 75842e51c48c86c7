"""Do a few shared models and private mixture weights serve every client?

Marfoq, Neglia, Bellet, Kameni and Vidal, "Federated Multi-Task Learning under a Mixture of Distributions"
(2021). Identities, limits and mixing are exact; the learning claims are on the synthetic mixture, on 8x8
digits, and on MNIST where UNALIKE_DATA has it.
"""

from __future__ import annotations

from ..study import Claim, study_registry
from .theory import theory_claims
from .training import training_claims


@study_registry.add("fedem")
def fedem(quick: bool = False) -> list[Claim]:
    """What a mixture of models rests on and what it is worth, with and without a server (R1 to R16)."""
    return [*theory_claims(quick), *training_claims(quick)]
