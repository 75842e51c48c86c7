"""Validation of uploads before they are added.

An upload must have the structure, shapes and dtypes that the algorithm's uploads have, and only finite
entries. A bad one is left out and recorded; training goes on.
"""

from __future__ import annotations

import jax
import numpy as np

from ..typing import PyTree


def fault(upload: PyTree, expected: PyTree) -> str | None:
    """What is wrong with an upload, or None.

    >>> fault({"w": np.ones(2)}, {"w": np.zeros(2)}) is None
    True
    >>> fault({"w": np.array([1.0, np.nan])}, {"w": np.zeros(2)})
    "['w'] holds NaN or infinite entries"
    """
    given, asked = str(jax.tree.structure(upload)), str(jax.tree.structure(expected))
    if given != asked:
        return f"has structure {given} instead of {asked}"
    wanted = jax.tree.leaves(expected)
    for (path, leaf), want in zip(jax.tree.leaves_with_path(upload), wanted, strict=True):
        reason = _leaf_fault(leaf, want)
        if reason:
            return f"{jax.tree_util.keystr(path)} {reason}"
    return None


def _leaf_fault(leaf: object, want: object) -> str | None:
    array = np.asarray(leaf)
    shape, dtype = want.shape, want.dtype  # type: ignore[attr-defined]
    if array.shape != shape:
        return f"has shape {array.shape} instead of {shape}"
    if array.dtype != dtype:
        return f"has dtype {array.dtype} instead of {dtype}"
    return None if np.isfinite(array).all() else "holds NaN or infinite entries"
