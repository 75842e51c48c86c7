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
from .table import KNOW_SWAPPED, OPERATORS, Site, turn

__all__ = [
    "KNOW_SWAPPED",
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
    "turn",
]
