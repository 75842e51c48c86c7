"""Study of free-riders.

Fraboni, Vidal and Lorenzi, "Free-rider Attacks on Model Aggregation in Federated Learning" (2021). Means and
variances are exact and simulated; the rest is training.
"""

from __future__ import annotations

from ..shared.documents import FRABONI
from ..study import Claim, places_in, scale_down, study_registry
from .monitor import monitor_claims
from .theory import theory_claims
from .training import training_claims


@study_registry.add("free-riders")
def free_riders(quick: bool = False) -> list[Claim]:
    """What free-riders do to training's end, variance and speed, with its errata (F1 to F16, F19)."""
    return [*theory_claims(quick), *training_claims(quick), *monitor_claims(quick)]


places_in("free-riders", FRABONI)
_SMALL = "MNIST non-iid alone of four data sets, 14x14 of 28x28 pixels, 5 epochs and not 20"
scale_down(
    "free-riders",
    F9=f"{_SMALL}, 5 other starts of 30",
    **{f"F{number}": "as F9" for number in (10, 11, 12, 13, 14, 15, 16, 19)},
)
