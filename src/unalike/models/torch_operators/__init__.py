"""What PyTorch's operators compute, in JAX, by family."""

from . import (
    attention,
    convolution,
    elementwise,
    linear,
    normalization,
    pooling,
    randomness,
    recurrent,
    reduction,
    shape,
)
from .table import OPERATORS, Site

__all__ = [
    "OPERATORS",
    "Site",
    "attention",
    "convolution",
    "elementwise",
    "linear",
    "normalization",
    "pooling",
    "randomness",
    "recurrent",
    "reduction",
    "shape",
]
