"""Is a prior that all clients learn better than one's own?  (Study of federated Gaussian processes.)

X. Yue and R. Kontar, Federated Gaussian Process: Convergence, Automatic Personalization and Multi-fidelity
Modeling (2024), and chapter 4 and appendix C of the dissertation that it is from. Published numbers stand
beside what is measured here; that co-kriging, which pools rows, usually wins is printed, too.
"""

from __future__ import annotations

from ..study import Claim, study_registry
from .applications import application_claims
from .levels import level_claims
from .real_files import file_claims
from .theory import theory_claims
from .training import training_claims


@study_registry.add("gaussian-processes")
def gaussian_processes(quick: bool = False) -> list[Claim]:
    """Federated Gaussian processes: recovery, levels of fidelity, engines and robots (G1 to G14)."""
    parts = (theory_claims, training_claims, level_claims, application_claims, file_claims)
    return [claim for part in parts for claim in part(quick)]
