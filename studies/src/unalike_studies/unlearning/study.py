"""Study of provable unlearning: can a client be forgotten at half the cost of retraining?

Fraboni, Van Waerebeke, Scaman, Vidal, Kameni and Lorenzi, "SIFU: Sequential Informed Federated Unlearning"
(2024). Sensitivities, calibrations and restart nodes are exact; costs and residual accuracies are trainings.
"""

from __future__ import annotations

from ..shared.documents import FRABONI
from ..study import Claim, places_in, scale_down, study_registry
from . import published as _published  # noqa: F401 - what --full runs registers itself
from .theory import theory_claims
from .training import training_claims
from .violation_search import search_claims


@study_registry.add("unlearning")
def unlearning(quick: bool = False) -> list[Claim]:
    """Bounds, noise and restarts of SIFU, and what forgetting costs and leaves (U1 to U11)."""
    return [*theory_claims(quick), *search_claims(quick), *training_claims(quick)]


places_in("unlearning", FRABONI)
_SMALL = (
    "15 of 100 images per client, 14x14 of 28x28 pixels, 3 of 10 seeds, until 90 of 93 %; MNIST alone of "
    "five data sets (Fashion-MNIST with --full)"
)
scale_down(
    "unlearning",
    U1=_SMALL,
    **{f"U{number}": "as U1" for number in (2, 3, 4, 5, 6, 8)},
    U7="as U1, but 1 of 10 seeds",
    U10="as U1, until 90 of 99.9 %",
    U11="as U1, but 1 of 10 seeds",
)
