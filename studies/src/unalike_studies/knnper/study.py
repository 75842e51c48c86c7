"""Study of kNN-Per: is memorization enough?

Marfoq, Neglia, Kameni and Vidal, "Personalized Federated Learning through Local Memorization" (2022): kNN-Per
mixes a global model with a vote of the nearest of a client's own rows. The claims are on Gaussian federations
whose clients have different labels, and also different meanings of labels; and on real digits (MNIST where
UNALIKE_DATA has it). The published figures are of images and of a pretrained network, so what is compared is
their order and their shape. Where a limit is wider than a first estimate on one seed, a note says so.
Places are those of Marfoq's doctoral thesis (2023), section 3.6.
"""

from __future__ import annotations

from ..shared.documents import MARFOQ
from ..study import Claim, places_in, scale_down, study_registry
from .rivals import real_claims, rival_claims
from .training import training_claims


@study_registry.add("knnper")
def knnper(quick: bool = False) -> list[Claim]:
    """What a client's own memory adds to a global model, and what that depends on (K1 to K18)."""
    real = [] if quick else real_claims()
    return [*training_claims(quick), *rival_claims(quick), *real]


places_in("knnper", MARFOQ)
scale_down(
    "knnper",
    K1="Gaussian classes; 8,000 of 60,000 images of CIFAR-10 as fixed features, 40 of 200 clients, 40 of 200 "
    "rounds and one hidden layer for MobileNet-v2; 40 of 778 roles, 30 of 300 rounds and a perceptron for an "
    "LSTM; digits and MNIST beside them; FEMNIST and CIFAR-100 are left out",
    K12="Gaussian classes with personal labels for CIFAR-10 with two classes each, 2 seeds",
    K17="keys of 25 numbers for 1,000, 6 clients",
)
