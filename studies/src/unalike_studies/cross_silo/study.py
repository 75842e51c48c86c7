"""Study of cross-silo benchmarks: do centers with natural differences gain from each other?

J. Ogier du Terrail et al., "FLamby: Datasets and Benchmarks for Cross-Silo Federated Learning in Realistic
Healthcare Settings", 2022. Where the files of heart disease or TCGA-BRCA are not there, generated centers of
the published sizes stand in, and claims say so by their names. Published are the sizes, in Table 1.2 of
Marfoq's doctoral thesis (2023); orders were agreed on before measuring.
"""

from __future__ import annotations

from ..shared.documents import MARFOQ
from ..study import Claim, places_in, scale_down, study_registry
from .theory import theory_claims
from .training import training_claims


@study_registry.add("cross-silo")
def cross_silo(quick: bool = False) -> list[Claim]:
    """Cross-silo benchmarks: sizes of centers, transfer, survival, tidy tables (F1 to F4)."""
    return [*theory_claims(quick), *training_claims(quick)]


places_in("cross-silo", MARFOQ)
scale_down(
    "cross-silo",
    F1="2 of 7 data sets, and generated patients beside them",
    F2="generated patients where the files of heart disease are not there",
    F3="generated patients where the file of TCGA-BRCA is not there",
)
