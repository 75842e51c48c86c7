"""Federated Gaussian process regression with a shared prior (FGPR)."""

from .fgpr import FGPR
from .kernels import Kernel
from .regression import GaussianProcess

__all__ = ["FGPR", "GaussianProcess", "Kernel"]
