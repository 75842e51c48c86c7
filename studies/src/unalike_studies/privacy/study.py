"""Study of privacy audits: what do models leak of training and reference rows?

Marfoq's doctoral thesis (2023), section 1.6.1, on defenses that use reference data: it prints findings and no
tables, so orders and identities are checked, not numbers. Its data sets Purchase100, Texas100 and CIFAR-100
are not used: rows are drawn by the recipe of the first. Models are trained by the methods that users have,
and judged by the same audit.
"""

from __future__ import annotations

from ..shared.documents import MARFOQ
from ..study import Claim, places_in, scale_down, study_registry
from . import published as _published  # noqa: F401 - what --full runs registers itself
from .defenses import defense_claims
from .regimes import regime_claims
from .theory import theory_claims
from .training import training_claims


@study_registry.add("privacy")
def privacy(quick: bool = False) -> list[Claim]:
    """Leakage of training and reference rows under WERM, AdvReg and DP-SGD, and what attacks prove."""
    return [*theory_claims(quick), *training_claims(quick), *defense_claims(quick), *regime_claims(quick)]


places_in("privacy", MARFOQ)
scale_down(
    "privacy",
    P4="2,000 generated baskets for Purchase100, and 128 hidden units; Texas100 and CIFAR-100 are left out",
    P6="the same, with fewer settings and draws",
    R1="the same, with fewer settings and draws",
    R2="the same, with fewer settings and draws",
    F1="the same",
)
