"""Byte images: stored as bytes, converted to floats when a batch is used.

A byte per pixel is a quarter of a float's memory, so images stay bytes wherever they lie, and become floats
when a batch of them is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ..typing import Array

if TYPE_CHECKING:
    import jax


Images = TypeVar("Images", "jax.Array", Array)


def as_floats(x: Images) -> Images:
    """Images of bytes as floats in [0, 1], NumPy's or JAX's; everything else stays as it is.

    >>> as_floats(np.array([[[0, 255]]], np.uint8))
    array([[[0., 1.]]], dtype=float32)
    """
    return x.astype(np.float32) / np.float32(255) if x.dtype == np.uint8 else x
