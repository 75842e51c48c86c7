"""The published claims, as runnable studies: a folder for each, with its data, theory and trainings."""

from .asynchrony import study as _asynchrony  # noqa: F401 - studies register themselves
from .availability import study as _availability  # noqa: F401
from .cross_silo import study as _cross_silo  # noqa: F401
from .engines import study as _engines  # noqa: F401
from .fairness import study as _fairness  # noqa: F401
from .fedem import study as _fedem  # noqa: F401
from .foundation import study as _foundation  # noqa: F401
from .free_riders import study as _free_riders  # noqa: F401
from .gaussian_processes import study as _gaussian_processes  # noqa: F401
from .knnper import study as _knnper  # noqa: F401
from .likeness import study as _likeness  # noqa: F401
from .linear_models import study as _linear_models  # noqa: F401
from .online_mixture import study as _online_mixture  # noqa: F401
from .perturbed_gradient import study as _perturbed_gradient  # noqa: F401
from .privacy import study as _privacy  # noqa: F401
from .sampling import study as _sampling  # noqa: F401
from .streams import study as _streams  # noqa: F401
from .study import Claim, Effort, at_least, at_most, run_published, run_study, study_registry
from .topology import study as _topology  # noqa: F401
from .unlearning import study as _unlearning  # noqa: F401

__all__ = ["Claim", "Effort", "at_least", "at_most", "run_published", "run_study", "study_registry"]
