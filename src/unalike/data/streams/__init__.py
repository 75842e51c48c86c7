"""Data streams: arrivals x memory x weights."""

from .arrivals import Arrivals, arrival_registry
from .base import Selection, Stream, StreamPart
from .changes import Change, change_registry
from .changing_mixture import ChangingMixture
from .clocked_stream import ClockedStream
from .drift_detectors import detector_registry
from .drift_injection import Drift, drift_registry
from .held_steps import HeldSteps, hold_steps
from .memory import MemoryRule, memory_registry
from .optimal_weights import Optimal
from .poisson_arrivals import Bursts, Poisson
from .realized_weights import effective_samples
from .reservoir import Balanced, Reservoir
from .row_importances import row_importance
from .run_weights import RunWeights
from .stream import MemoryStream
from .target_importance import Tradeoff
from .trace import RecordedArrivals
from .weights import GivenImportance, StreamWeights, stream_weight_registry

__all__ = [
    "Arrivals",
    "Balanced",
    "Bursts",
    "Change",
    "ChangingMixture",
    "ClockedStream",
    "Drift",
    "GivenImportance",
    "HeldSteps",
    "MemoryRule",
    "MemoryStream",
    "Optimal",
    "Poisson",
    "RecordedArrivals",
    "Reservoir",
    "RunWeights",
    "Selection",
    "Stream",
    "StreamPart",
    "StreamWeights",
    "Tradeoff",
    "arrival_registry",
    "change_registry",
    "detector_registry",
    "drift_registry",
    "effective_samples",
    "hold_steps",
    "memory_registry",
    "row_importance",
    "stream_weight_registry",
]
