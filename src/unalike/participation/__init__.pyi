from .availability import Always, Availability, Diurnal, Markov, Trace, availability_registry
from .base import Cohort, Participation, RoundContext, check_cohort, check_per_round
from .beliefs import Beliefs, Estimated, Known
from .intermittent import Intermittent
from .remaining import Remaining
from .samplers.base import Sampler, SizedSampler, check_draw, sampler_registry
from .samplers.binomial import Binomial
from .samplers.clustered import Target
from .samplers.clustered_data import ClusteredByData
from .samplers.clustered_similarity import ClusteredBySimilarity
from .samplers.clustered_size import ClusteredBySize
from .samplers.multinomial import Multinomial
from .samplers.optimal import Optimal
from .samplers.poisson import Poisson
from .samplers.power_of_choice import PowerOfChoice
from .samplers.statistics import WeightStatistics
from .samplers.uniform import Full, OriginalFedAvg, Renormalized, Uniform, UniformWithReplacement
from .strategies.adafed import AdaFed
from .strategies.available_only import AvailableOnly
from .strategies.base import AvailabilityContext, Strategy, strategy_registry
from .strategies.ca_fed import CAFed, CAFedOnBatches
from .strategies.f3ast import F3ast
from .strategies.unbiased import MoreAvailable, Unbiased

__all__ = [
    "AdaFed",
    "Always",
    "Availability",
    "AvailabilityContext",
    "AvailableOnly",
    "Beliefs",
    "Binomial",
    "CAFed",
    "CAFedOnBatches",
    "ClusteredByData",
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
    "Remaining",
    "Renormalized",
    "RoundContext",
    "Sampler",
    "SizedSampler",
    "Strategy",
    "Target",
    "Trace",
    "Unbiased",
    "Uniform",
    "UniformWithReplacement",
    "WeightStatistics",
    "availability_registry",
    "check_cohort",
    "check_draw",
    "check_per_round",
    "sampler_registry",
    "strategy_registry",
]
