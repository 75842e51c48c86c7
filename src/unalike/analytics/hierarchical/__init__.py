"""Hierarchical linear models of related devices: common and device-specific coefficients."""

from .device_posterior import DevicePosterior
from .hm1 import HM1
from .hm2 import HM2
from .penalized import PenalizedRegression

__all__ = ["HM1", "HM2", "DevicePosterior", "PenalizedRegression"]
