"""Double precision for the methods that need it, without switching it on globally.

JAX computes with 32-bit floats unless told otherwise, which is right for training networks and wrong for
Cholesky factors and normal equations. Inside :func:`precision`, arrays may have 64 bits; outside, nothing
changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax


@contextmanager
def precision(double: bool) -> Iterator[None]:
    """Compute with 64-bit floats if `double`, and as the process does if not.

    >>> import jax.numpy as jnp
    >>> with precision(double=True):
    ...     print(jnp.ones(1).dtype)
    float64
    >>> with precision(double=False):
    ...     print(jnp.ones(1).dtype)
    float32
    """
    if not double:
        yield
        return
    with jax.enable_x64(True):
        yield
