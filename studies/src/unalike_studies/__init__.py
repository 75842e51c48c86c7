"""The published claims, as runnable studies: a folder for each, with its data, theory and trainings."""

from .study import Claim, Effort, at_least, at_most, run_published, run_study, study_registry

__all__ = ["Claim", "Effort", "at_least", "at_most", "run_published", "run_study", "study_registry"]
