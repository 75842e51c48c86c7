"""Study of federated Gaussian processes: is a shared prior better than a local one?

X. Yue and R. Kontar, Federated Gaussian Process: Convergence, Automatic Personalization and Multi-fidelity
Modeling (2024), and chapter 4 and appendix C of the dissertation that it is from. Published numbers stand
beside what is measured here; that co-kriging, which pools rows, usually wins is printed, too.
"""

from __future__ import annotations

from ..shared.documents import YUE
from ..study import Claim, places_in, scale_down, study_registry
from . import published as _published  # noqa: F401 - what --full runs registers itself
from .applications import application_claims
from .levels import level_claims
from .real_files import file_claims
from .small_claims import small_claims
from .theory import theory_claims
from .training import training_claims


@study_registry.add("gaussian-processes")
def gaussian_processes(quick: bool = False) -> list[Claim]:
    """Federated Gaussian processes: recovery, levels of fidelity, engines and robots (G1 to G18)."""
    parts = (theory_claims, small_claims, training_claims, level_claims, application_claims, file_claims)
    return [claim for part in parts for claim in part(quick)]


places_in("gaussian-processes", YUE)
scale_down(
    "gaussian-processes",
    G5="5 of 20 experiments, 1 input for 1 to 10, 2 of 3 scenarios",
    G7="8 of 30 runs",
    G8="5 runs; how many were published is not said",
    G9="simulated engines for turbofans, 3 of 30 runs",
    G10="an arm of two links for SARCOS, 5 clients of 200 rows for 25 of 1,850, 3 of 30 runs",
    **{
        "T4.2": "3 of 30 runs",
        "C.1": "3 of 30 runs",
        "4.3": "5 clients of 400 rows for 25 of 1,850, 1 of 30 runs",
    },
)
