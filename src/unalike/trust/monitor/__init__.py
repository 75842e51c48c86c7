"""Free-rider monitor: what an upload reveals about whether its sender has trained."""

from .book import Book
from .decisions import Verdict
from .monitor import Monitor, monitor_registry

__all__ = ["Book", "Monitor", "Verdict", "monitor_registry"]
