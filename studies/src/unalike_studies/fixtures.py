"""Shared data sets of the studies, by name, before they are partitioned."""

from __future__ import annotations

from unalike.data.sources import Source, source_registry


def load_rows(name: str) -> Source:
    """All rows of a data set that clients do not hold yet, such as `digits` or `mnist`."""
    source = source_registry.make(name)
    assert isinstance(source, Source)
    return source
