"""Who takes part: cohorts and the weights of their uploads."""

from .base import Cohort, Participation, participations
from .simple import Full, Uniform, check_cohort, check_per_round

__all__ = ["Cohort", "Full", "Participation", "Uniform", "check_cohort", "check_per_round", "participations"]
