"""Study of CA-Fed: is it worth waiting for clients that are rarely available?

Rodio, Faticanti, Marfoq, Neglia and Leonardi, "Federated Learning under Heterogeneous and Correlated Client
Availability", 2023. All strategies see the same trace and know the true availability. The published gains in
accuracy are printed beside ours and are soft: they depend on step sizes tuned for each method.
Places are those of Marfoq's doctoral thesis (2023), section 2.2 and appendix D.
"""

from __future__ import annotations

from ..shared.documents import MARFOQ
from ..study import Claim, places_in, scale_down, study_registry
from . import published as _published  # noqa: F401 - what --full runs registers itself
from .theory import theory_claims
from .training import training_claims


@study_registry.add("availability")
def availability(quick: bool = False) -> list[Claim]:
    """Correlated availability: chains, estimators, and what CA-Fed leaves out and gains (A1 to A15)."""
    return [*theory_claims(quick), *training_claims(quick)]


places_in("availability", MARFOQ)
scale_down(
    "availability",
    A7="generated clients for LEAF's synthetic data, 100 of 500 rounds, 3 runs",
    A8="generated clients for MNIST",
)
