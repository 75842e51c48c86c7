"""Gaussian process regression whose prior is learned by all clients (FGPR)."""

from .fgpr import FGPR
from .kernels import Kernel
from .regression import GaussianProcess

__all__ = ["FGPR", "GaussianProcess", "Kernel"]
