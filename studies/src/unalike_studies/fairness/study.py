"""Study of fairness between clients and groups.

Yue, "Federated Data Analytics: Theory and Application" (doctoral thesis, 2023), chapter 2: GIFAIR-FL, with
q-FFL, TERM, AFL, FedMGDA+ and Ditto beside it. Formulas are exact, orders are trained on small problems;
tables of images and plays are soft, for the data and the models are others.
"""

from __future__ import annotations

from ..shared.documents import YUE
from ..study import Claim, places_in, scale_down, study_registry
from . import published as _published  # noqa: F401 - what --full runs registers itself
from .bounds import bound_claims
from .real_data import real_claims
from .theory import theory_claims
from .training import training_claims


@study_registry.add("fairness")
def fairness(quick: bool = False) -> list[Claim]:
    """How fair methods are to clients and groups, and what that costs (G1 to G11, T1 to T10, R1 and R2)."""
    real = [] if quick else real_claims()
    return [*theory_claims(quick), *bound_claims(quick), *training_claims(quick), *real]


places_in("fairness", YUE)
_GROUPS = "40 clients of a Gaussian problem with a linear model for 200 of FEMNIST with a CNN"
scale_down(
    "fairness",
    T4=_GROUPS,
    **{f"T{number}": "as T4" for number in (6, 7, 9)},
    T5="35 clients of a Gaussian problem with a linear model for Shakespeare with an LSTM",
    R1="Fashion-MNIST (or digits) and 64 hidden units for FEMNIST and a CNN, 1 of 5 seeds",
    R2="5 of 80 characters and a linear model for an LSTM (T2.6 has one), 150 rounds of 500, 1 of 5 seeds",
)
