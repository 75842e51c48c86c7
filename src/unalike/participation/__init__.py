"""Who takes part: cohorts and the weights of their uploads."""

from .base import (
    Cohort,
    Participation,
    Turn,
    check_cohort,
    check_importance,
    check_per_round,
)
from .coins import Binomial, Optimal, Poisson
from .multinomial import Multinomial
from .sampler import Sampler, SizedSampler, samplers
from .statistics import WeightStatistics
from .uniform import Full, OriginalFedAvg, Renormalised, Uniform, UniformWithReplacement

__all__ = [
    "Binomial",
    "Cohort",
    "Full",
    "Multinomial",
    "Optimal",
    "OriginalFedAvg",
    "Participation",
    "Poisson",
    "Renormalised",
    "Sampler",
    "SizedSampler",
    "Turn",
    "Uniform",
    "UniformWithReplacement",
    "WeightStatistics",
    "check_cohort",
    "check_importance",
    "check_per_round",
    "samplers",
]
