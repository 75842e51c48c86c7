"""Study of client sampling.

Fraboni, Vidal, Kameni and Lorenzi, "Clustered Sampling: Low-Variance and Improved Representativity for
Clients Selection in Federated Learning" (2021) and "A General Theory for Client Sampling in Federated
Learning" (2022). The claims on weights are exact; the learning curves are on real images where UNALIKE_DATA
has them (MNIST with one digit per client, CIFAR-10 with Dirichlet labels), and on 8x8 digits otherwise.
"""

from __future__ import annotations

from ..shared.documents import FRABONI
from ..study import Claim, places_in, scale_down, study_registry
from . import published as _published  # noqa: F401 - what --full runs registers itself
from .influence import influence_claims
from .rates import rate_claims
from .theory import theory_claims
from .training import training_claims


@study_registry.add("sampling")
def sampling(quick: bool = False) -> list[Claim]:
    """Exact weight statistics of every sampling scheme, and what they do to learning (CS-1 to CS-21)."""
    return [*theory_claims(quick), *rate_claims(quick), *training_claims(quick), *influence_claims(quick)]


places_in("sampling", FRABONI)
_DIRICHLET = "one class per client of MNIST for CIFAR-10 with Dirichlet labels, an MLP for a CNN"
_DIGITS = "8x8 digits and an MLP for CIFAR-10 and a CNN, 1/30 of the rows, 50 rounds of 500 to 2,000"
scale_down(
    "sampling",
    CS_12="20,000 of 50,000 images, 150 of 600 rounds",
    CS_13="half of the rows, 80 of 1,000 rounds, 20 of 100 local steps, an MLP for a CNN",
    CS_14="Gaussian classes and an MLP for Shakespeare and an LSTM, 12 of 30 runs, 60 of 600 rounds",
    CS_15="the same as CS-14",
    CS_16=f"{_DIRICHLET}, 150 of 1,000 rounds",
    CS_17=f"{_DIRICHLET}, 150 of 1,000 rounds",
    CS_18=_DIGITS,
    CS_19=_DIGITS,
)
