"""Data streams: arrivals x memory x weights."""

from .arrivals import Arrivals, arrival_registry
from .base import Selection, Stream, StreamPart
from .changes import Change, change_registry
from .clocked_stream import ClockedStream
from .drift_detectors import detector_registry
from .drift_injection import Drift, drift_registry
from .held_steps import HeldSteps, hold_steps
from .memory import MemoryRule, memory_registry
from .poisson_arrivals import Bursts, Poisson
from .realized_weights import effective_samples
from .reservoir import Balanced, Reservoir
from .row_importances import row_importance
from .stream import MemoryStream
from .trace import RecordedArrivals
from .weights import GivenImportance, StreamWeights, stream_weight_registry

__all__ = [
    "Arrivals",
    "Balanced",
    "Bursts",
    "Change",
    "ClockedStream",
    "Drift",
    "GivenImportance",
    "HeldSteps",
    "MemoryRule",
    "MemoryStream",
    "Poisson",
    "RecordedArrivals",
    "Reservoir",
    "Selection",
    "Stream",
    "StreamPart",
    "StreamWeights",
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
