"""What do clients do to training that want its result and give nothing?  (Study of free-riders.)

Fraboni, Vidal and Lorenzi, "Free-rider Attacks on Model Aggregation in Federated Learning" (2021). Means and
variances are exact and simulated; the rest is training.
"""

from __future__ import annotations

from ..study import Claim, study_registry
from .monitor import monitor_claims
from .theory import theory_claims
from .training import training_claims


@study_registry.add("free-riders")
def free_riders(quick: bool = False) -> list[Claim]:
    """What free-riders do to training's end, variance and speed, with its errata (F1 to F16, F19)."""
    return [*theory_claims(quick), *training_claims(quick), *monitor_claims(quick)]
