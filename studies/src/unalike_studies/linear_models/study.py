"""Study of hierarchical linear models: do they borrow strength, and do their intervals cover?

X. Yue, "Federated Data Analytics: Theory and Application" (dissertation, University of Michigan, 2023),
chapter 3. Identities are exact; simulations follow the published designs, or substitutes where those leave
nothing to borrow; engines and students need their files and are skipped without.
"""

from __future__ import annotations

from ..shared.documents import YUE
from ..study import Claim, places_in, scale_down, study_registry
from .engines import engine_claims
from .script_readings import script_claims
from .students import student_claims
from .theory import theory_claims
from .training import training_claims


@study_registry.add("linear-models")
def linear_models(quick: bool = False) -> list[Claim]:
    """HM1, HM2 by expectation propagation, and penalized regression (LM1 to LM17)."""
    return [
        *theory_claims(quick),
        *training_claims(quick),
        *engine_claims(quick),
        *script_claims(quick),
        *student_claims(quick),
    ]


places_in("linear-models", YUE)
scale_down(
    "linear-models",
    LM8="4 of 30 runs",
    LM11="5 of 30 runs",
    LM12="4 of 30 runs",
    LM13="1 of 30 runs",
)
