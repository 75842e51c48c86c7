"""Study of FedEM: do a few shared models and private mixture weights serve every client?

Marfoq, Neglia, Bellet, Kameni and Vidal, "Federated Multi-Task Learning under a Mixture of Distributions"
(2021). Identities, limits and mixing are exact; the learning claims are on the synthetic mixture, on 8x8
digits, and on MNIST where UNALIKE_DATA has it. Places are those of Marfoq's doctoral thesis (2023), section
3.5 and appendix E.
"""

from __future__ import annotations

from ..shared.documents import MARFOQ
from ..study import Claim, places_in, scale_down, study_registry
from .theory import theory_claims
from .training import training_claims


@study_registry.add("fedem")
def fedem(quick: bool = False) -> list[Claim]:
    """What a mixture of models rests on and what it is worth, with and without a server (R1 to R16)."""
    return [*theory_claims(quick), *training_claims(quick)]


places_in("fedem", MARFOQ)
scale_down(
    "fedem",
    R1="1 of 3 seeds on the synthetic mixture; 8,000 of 60,000 images of CIFAR-10 as fixed features, 40 of "
    "80 clients, 40 of 200 rounds and a hidden layer for MobileNet-v2; 40 of 778 roles, 30 of 80 rounds and "
    "a perceptron for an LSTM; digits and MNIST beside them; FEMNIST, EMNIST and CIFAR-100 are left out",
    R6="100 of 200 rounds without a server",
    R7="400 of 1,200 rounds, 1 of 3 seeds",
    R9="the synthetic mixture for CIFAR-100",
)
