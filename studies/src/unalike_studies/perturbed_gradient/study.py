"""Study of FedProx and perturbed gradients: does perturbation aid convergence?

Buttaci, "Does Perturbation Aid Convergence?" (MSc thesis, Politecnico di Torino). Golden numbers, bounds and
contractions are exact; trainings are on MNIST where UNALIKE_DATA has it, and on 8x8 digits otherwise, in
place of FEMNIST's digits: orders and ratios are compared, not accuracies. CIFAR-10 is raced where there is
a file of it.
"""

from __future__ import annotations

from ..shared.documents import BUTTACI
from ..study import Claim, places_in, scale_down, study_registry
from .color_images import color_claims
from .theory import theory_claims
from .training import training_claims


@study_registry.add("perturbed-gradient")
def perturbed_gradient(quick: bool = False) -> list[Claim]:
    """Whether gradients at a perturbed point save rounds, and why (PG-1 to PG-15)."""
    return [*theory_claims(quick), *training_claims(quick), *color_claims(quick)]


places_in("perturbed-gradient", BUTTACI)
_MNIST = "12,000 images of MNIST (or 1,437 digits) for 341,873 of FEMNIST"
scale_down(
    "perturbed-gradient",
    PG_6=f"{_MNIST}, 50 clients (or 20) of 100, 120 rounds of 200; CIFAR-10: 40 rounds of 200",
    PG_7="images as PG-6, 32 ReLU units on digits for 128, 60 rounds of 200",
    PG_10="images as PG-6, at most 60 rounds of 200, CIFAR-10 is left out",
    PG_11="images as PG-6, 20 rounds of 50, CIFAR-10 is left out",
    PG_12="images as PG-6, 20 rounds of 50; CIFAR-10: 40 rounds of 50",
)
