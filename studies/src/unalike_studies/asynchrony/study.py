"""Study of asynchronous training: is it worth waiting for slow clients?

Fraboni, Vidal, Kameni and Lorenzi, "A General Theory for Federated Optimization with Asynchronous and
Heterogeneous Clients Updates" (2023). The claims on weights, schedules and quadratic losses are exact; the
learning claims are on Gaussian classes, and on real images where UNALIKE_DATA has them (MNIST).
"""

from __future__ import annotations

from ..shared.documents import FRABONI
from ..study import Claim, places_in, scale_down, study_registry
from . import published as _published  # noqa: F401 - what --full runs registers itself
from .theory import theory_claims
from .training import training_claims


@study_registry.add("async")
def asynchronous(quick: bool = False) -> list[Claim]:
    """What late results weigh, where that leads, and what it is worth in time (AS-1 to AS-19)."""
    return [*theory_claims(quick), *training_claims(quick)]


places_in("async", FRABONI)
_GAUSSIANS = "Gaussian classes for CIFAR-10 and Shakespeare, T = 20 for 5,000"
scale_down(
    "async",
    AS_14="Gaussian classes and 10,000 images of MNIST, T = 400 for 200,000, one learning rate",
    AS_15=f"{_GAUSSIANS}, 3 of 5 seeds",
    AS_16=f"{_GAUSSIANS}, 3 of 5 seeds",
    AS_17=f"{_GAUSSIANS}, 3 of 5 seeds",
    AS_19="10,000 of 60,000 images, 3 of 5 seeds, T = 400 for 200,000, one learning rate",
)
