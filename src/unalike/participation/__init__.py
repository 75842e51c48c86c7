"""Who takes part: samplers with exact statistics, availability, strategies for clients that come and go."""

from ..data.importance import check_importance
from .availability import Always, Availability, Diurnal, Markov, Trace, availabilities
from .base import Cohort, Participation, Turn, check_cohort, check_per_round
from .beliefs import Beliefs, Estimated, Known
from .ca_fed import CAFed
from .clustered import ClusteredBySize, Target
from .clustered_similarity import ClusteredBySimilarity
from .coins import Binomial, Optimal, Poisson
from .intermittent import Intermittent
from .multinomial import Multinomial
from .power_of_choice import PowerOfChoice
from .sampler import Sampler, SizedSampler, check_draw, samplers
from .statistics import WeightStatistics
from .strategies import AdaFed, F3ast, MoreAvailable, Situation, Strategy, Unbiased, WhoIsThere, strategies
from .uniform import Full, OriginalFedAvg, Renormalised, Uniform, UniformWithReplacement

__all__ = [
    "AdaFed",
    "Always",
    "Availability",
    "Beliefs",
    "Binomial",
    "CAFed",
    "ClusteredBySimilarity",
    "ClusteredBySize",
    "Cohort",
    "Diurnal",
    "Estimated",
    "F3ast",
    "Full",
    "Intermittent",
    "Known",
    "Markov",
    "MoreAvailable",
    "Multinomial",
    "Optimal",
    "OriginalFedAvg",
    "Participation",
    "Poisson",
    "PowerOfChoice",
    "Renormalised",
    "Sampler",
    "Situation",
    "SizedSampler",
    "Strategy",
    "Target",
    "Trace",
    "Turn",
    "Unbiased",
    "Uniform",
    "UniformWithReplacement",
    "WeightStatistics",
    "WhoIsThere",
    "availabilities",
    "check_cohort",
    "check_draw",
    "check_importance",
    "check_per_round",
    "samplers",
    "strategies",
]
