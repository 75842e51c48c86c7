"""Study of topologies: on which overlay do silos learn soonest?

Marfoq, Xu, Neglia and Vidal, "Throughput-Optimal Topology Design for Cross-Silo Federated Learning" (2020).
Cycle times are exact, so the published tables are compared cell by cell: Gaia and AWS North America from
built-in city coordinates, all five networks where UNALIKE_DATA has their maps. Training runs are small.
Places are those of Marfoq's doctoral thesis (2023), section 2.1 and appendix C.
"""

from __future__ import annotations

from ..shared.documents import MARFOQ
from ..study import Claim, places_in, scale_down, study_registry
from .tables import table_claims
from .theory import theory_claims
from .training import training_claims


@study_registry.add("topology")
def topology(quick: bool = False) -> list[Claim]:
    """Cycle times of overlays, bounds on them, and training on them (T1 to T17)."""
    return [*theory_claims(quick), *table_claims(quick), *training_claims(quick)]


places_in("topology", MARFOQ)
scale_down(
    "topology",
    T3="2 of 5 networks where the Internet maps are not there",
    T16="softmax regression on Gaussian classes for ResNet-18 on iNaturalist, 2 of 5 networks",
)
