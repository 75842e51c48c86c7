"""Does it matter how clients are drawn?  (Study of client sampling.)

Fraboni, Vidal, Kameni and Lorenzi, "Clustered Sampling: Low-Variance and Improved Representativity for
Clients Selection in Federated Learning" (2021) and "A General Theory for Client Sampling in Federated
Learning" (2022). The claims on weights are exact; the learning curves are on real images where UNALIKE_DATA
has them (MNIST with one digit per client, CIFAR-10 with Dirichlet labels), and on 8x8 digits otherwise.
"""

from __future__ import annotations

from ..study import Claim, study_registry
from . import published as _published  # noqa: F401 - what --full runs registers itself
from .influence import influence_claims
from .theory import theory_claims
from .training import training_claims


@study_registry.add("sampling")
def sampling(quick: bool = False) -> list[Claim]:
    """Exact weight statistics of every sampling scheme, and what they do to learning (CS-1 to CS-19)."""
    return [*theory_claims(quick), *training_claims(quick), *influence_claims(quick)]
