"""When results arrive: steps with model versions and a clock."""

from .base import Draw, Step, Timing, timings
from .synchronous import Synchronous

__all__ = ["Draw", "Step", "Synchronous", "Timing", "timings"]
