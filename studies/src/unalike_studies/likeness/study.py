"""Study of client similarity: does one message per client measure heterogeneity?

E. Buttaci, "Does Perturbation Aid Convergence?" (MSc thesis, Politecnico di Torino), chapter 3. Identities
and formulas are exact or simulated; homogeneity is measured on digits and, where their files are, on MNIST
and CIFAR-10. Nothing is trained.
"""

from __future__ import annotations

from ..shared.documents import BUTTACI
from ..study import Claim, places_in, scale_down, study_registry
from .images import picture_claims
from .theory import theory_claims
from .training import training_claims


@study_registry.add("likeness")
def likeness(quick: bool = False) -> list[Claim]:
    """What the similarity graph of clients says, with its errata (L1 to L12)."""
    return [*theory_claims(quick), *training_claims(quick), *picture_claims(quick)]


places_in("likeness", BUTTACI)
scale_down(
    "likeness",
    L3="digits with 20 clients and MNIST for FEMNIST, 2 of 3 seeds on images, no CIFAR-100",
    L6="2 of 3 seeds, the rows that the file of CIFAR-10 has of 50,000, 7 of 10 class imbalances",
    L7="2 of 3 seeds on images",
)
