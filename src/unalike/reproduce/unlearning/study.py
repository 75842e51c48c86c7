"""Can a client be forgotten at half the cost of training again?  (Study of provable unlearning.)

Fraboni, Van Waerebeke, Scaman, Vidal, Kameni and Lorenzi, "SIFU: Sequential Informed Federated Unlearning"
(2024). Sensitivities, calibrations and restart nodes are exact; costs and residual accuracies are trainings.
"""

from __future__ import annotations

from ..study import Claim, study_registry
from .published import real_claims
from .theory import theory_claims
from .training import training_claims


@study_registry.add("unlearning")
def unlearning(quick: bool = False) -> list[Claim]:
    """Bounds, noise and restarts of SIFU, and what forgetting costs and leaves (U1 to U9)."""
    claims = [*theory_claims(quick), *training_claims(quick)]
    return claims if quick else [*claims, *real_claims(quick)]
