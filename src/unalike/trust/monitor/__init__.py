"""Free-rider monitor: what an upload reveals about whether its sender has trained."""

from .decisions import Verdict
from .monitor import Monitor, monitor_registry
from .state import MonitorState

__all__ = ["Monitor", "MonitorState", "Verdict", "monitor_registry"]
