"""Data sources by name. (Files and heavy libraries are only touched when a source is made.)"""

from .source import Source, source_registry

__all__ = ["Source", "source_registry"]
