"""Study of data streams: how much should historical data count against fresh data?

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023). Best importances, constants and
bounds are exact; the rest is training. Places are those of Marfoq's doctoral thesis (2023), section 4.3 and
appendix G, which has the same numbers.
"""

from __future__ import annotations

from ..shared.documents import MARFOQ
from ..study import Claim, places_in, scale_down, study_registry
from . import published as _published  # noqa: F401 - what --full runs registers itself
from .theory import theory_claims
from .training import training_claims
from .weights import weight_claims


@study_registry.add("streams")
def streams(quick: bool = False) -> list[Claim]:
    """What historical and fresh clients should count, constants and bounds, trainings (DS-1 to DS-20)."""
    return [*theory_claims(quick), *weight_claims(quick), *training_claims(quick)]


places_in("streams", MARFOQ)
scale_down(
    "streams",
    DS_9="Gaussian classes and a linear model for CIFAR-10 and a CNN",
    DS_11="5,000 of 50,000 images of MNIST, or of CIFAR-10 as fixed features, 64 hidden units for a CNN, "
    "2 of 3 seeds and one learning rate of 6 (the CNN, with all rates: DS-21 with --full); 100 of 916 roles "
    "and a linear model for an RNN",
    DS_12="Gaussian classes for five data sets",
)
