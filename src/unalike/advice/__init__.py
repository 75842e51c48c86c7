"""Advice with its reasons: which method, sampling, timing or topology suits these clients?"""

from .availability import AvailabilityAdvice, Population, StrategyBound, advise_availability
from .client_losses import ProbeSettings
from .constants import GradientConstants, MethodReport, report_methods
from .free_riders import FreeRiderAdvice, FreeRiderReport, LocalDescent, advise_free_riders
from .heterogeneity import HeterogeneityAdvice, MeasureReport, advise_heterogeneity
from .measure_availability import LossFacts, measure_losses
from .measure_constants import measure_gradient_constants
from .mixture_conditions import MixtureAdvice, advise_mixture
from .sampling import Advice, SchemeReport, advise_sampling
from .streams import StrategyReport, StreamAdvice, advise_streams
from .timing import PolicyReport, TimingAdvice, advise_timing
from .timing_race import RaceTarget

__all__ = [
    "Advice",
    "AvailabilityAdvice",
    "FreeRiderAdvice",
    "FreeRiderReport",
    "GradientConstants",
    "HeterogeneityAdvice",
    "LocalDescent",
    "LossFacts",
    "MeasureReport",
    "MethodReport",
    "MixtureAdvice",
    "PolicyReport",
    "Population",
    "ProbeSettings",
    "RaceTarget",
    "SchemeReport",
    "StrategyBound",
    "StrategyReport",
    "StreamAdvice",
    "TimingAdvice",
    "advise_availability",
    "advise_free_riders",
    "advise_heterogeneity",
    "advise_mixture",
    "advise_sampling",
    "advise_streams",
    "advise_timing",
    "measure_gradient_constants",
    "measure_losses",
    "report_methods",
]
