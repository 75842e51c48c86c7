"""The tracker interface and registry."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ...core.catalog import separate
from ...core.registry import Registry
from ...errors import ConfigError
from ...typing import Config, Document
from ..observers import Observer

tracker_registry: Registry[Observer] = Registry("tracker", "trackers")


def make_trackers(words: str | None) -> list[Observer]:
    """The trackers that words name, such as `tensorboard,jsonl`.

    >>> [type(one).__name__ for one in make_trackers("jsonl")]
    ['JsonLines']
    """
    return [] if words is None else [tracker_registry.make(name) for name in separate(words)]


@contextmanager
def starting(library: str) -> Iterator[None]:
    """Whatever a tracker's library has against being started becomes one sentence.

    >>> with starting("MLflow"):
    ...     raise ValueError("no such store. \\n Read the manual")
    Traceback (most recent call last):
    ...
    unalike.errors.ConfigError: MLflow cannot be started: no such store.
    """
    try:
        yield
    except Exception as error:  # of a kind of its own in each library
        said = (str(error).splitlines() or [""])[0].rstrip(". ") or type(error).__name__
        raise ConfigError(f"{library} cannot be started: {said}.") from None


def finite_metrics(metrics: Mapping[str, float]) -> dict[str, float]:
    """The metrics that are numbers; trackers take neither NaN nor infinity kindly.

    >>> finite_metrics({"loss": 0.5, "accuracy": math.nan})
    {'loss': 0.5}
    """
    return {name: float(value) for name, value in metrics.items() if math.isfinite(value)}


def given_settings(words: Config) -> Document:
    """The settings that are given, for a tracker's table of parameters."""
    return {name: value for name, value in words.items() if value not in (None, {}, "")}
