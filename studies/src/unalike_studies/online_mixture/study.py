"""Study of FEM-OMD: do clients in changing environments learn together?

Marfoq's doctoral thesis (2023), section 4.4 and appendix H: federated EM with online mirror descent. Pooling,
gradients and distances are exact, and the regret bound is tested as corrected; games with Gaussian components
and with classes hold the published statements, two of which did not come out in a pilot and are soft.
"""

from __future__ import annotations

from ..shared.documents import MARFOQ
from ..study import Claim, places_in, scale_down, study_registry
from . import published as _published  # noqa: F401 - what --full runs registers itself
from .theory import theory_claims
from .training import training_claims


@study_registry.add("online-mixture")
def online_mixture(quick: bool = False) -> list[Claim]:
    """What FEM-OMD rests on, and its regret in changing worlds (M1 to M15)."""
    return [*theory_claims(quick), *training_claims(quick)]


places_in("online-mixture", MARFOQ)
scale_down(
    "online-mixture",
    M13="Gaussian classes and 8x8 digits beside MNIST, 20 test images for 1",
    M16="CIFAR-10 by features of patches for convolutions, 20 test images for 1",
)
