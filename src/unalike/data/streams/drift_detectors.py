"""Concept drift detectors, from the library river.

A detector is given one error after the other and says when their distribution is another than before. River
calls that `update(value)` and `drift_detected`; whatever has these two can be used.
"""

from __future__ import annotations

from types import ModuleType
from typing import Protocol

from ...core.extras import import_extra
from ...core.registry import Registry
from ...errors import ConfigError


class DriftDetector(Protocol):
    """What is asked of a detector."""

    drift_detected: bool
    """Whether the last value was the one that made it sure."""

    def update(self, value: float) -> object:
        """Take in the next error."""


detector_registry: Registry[DriftDetector] = Registry("drift detector", "drift-detectors")


@detector_registry.add("adwin")
def adwin(delta: float = 0.002) -> DriftDetector:
    """Two parts of an adaptive window differ (Bifet and Gavalda, 2007); `adwin:0.002`, surer with less."""
    _check_share("delta", delta)
    return _river().ADWIN(delta=delta, clock=1)  # errors are few: all are looked at


@detector_registry.add("page-hinkley")
def page_hinkley(threshold: float = 5.0, delta: float = 0.005) -> DriftDetector:
    """The sum of errors above their mean exceeds a threshold (Page, 1954); `page-hinkley:5,0.005`."""
    if not threshold > 0 or not delta >= 0:
        raise ConfigError("page-hinkley needs a threshold above 0 and a delta that is not negative.")
    return _river().PageHinkley(threshold=threshold, delta=delta)


@detector_registry.add("kswin")
def kswin(alpha: float = 0.005, window: int = 100) -> DriftDetector:
    """The newest errors of a window differ from older ones (Raab, Heusinger and Schleif, 2020);
    `kswin:0.005,100`."""
    _check_share("alpha", alpha)
    if window < 10:
        raise ConfigError(f"the window of kswin must hold at least 10 errors, but holds {window}.")
    return _river().KSWIN(alpha=alpha, window_size=window, stat_size=max(window // 3, 3), seed=0)


def _river() -> ModuleType:
    return import_extra("river.drift", "drift", "drift detection")


def _check_share(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ConfigError(f"{name} of a drift detector must lie between 0 and 1, but is {value:g}.")
