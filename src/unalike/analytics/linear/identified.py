"""Which coefficients do the data determine?  (Columns that others explain are left out, and named.)

In the order of the columns, one that the ones before it explain is aliased: its coefficient is set to zero,
and those before it take over, as statistics programs do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...typing import Float64s, Int64s
from .newton import FLAT


class Identified(NamedTuple):
    """Coefficients and their information matrix without aliased columns."""

    kept: Int64s
    aliased: Int64s
    params: Float64s
    """All coefficients; NaN for aliased ones."""
    inverse: Float64s
    """The inverse of the kept columns' information, with NaN for aliased ones."""


def identify(params: Float64s, hessian: Float64s, candidates: int | None = None) -> Identified:
    """The coefficients that are determined; only the first `candidates` columns can be aliased.

    >>> both = np.array([[2.0, 2.0], [2.0, 2.0]])        # twice the same column
    >>> identify(np.array([0.5, 0.5]), both).params
    array([ 1., nan])
    """
    kept, aliased = find_aliased(hessian, candidates)
    scale = np.sqrt(np.maximum(np.diag(hessian)[kept], 1e-300))
    scaled = hessian[np.ix_(kept, kept)] / np.multiply.outer(scale, scale)
    found = np.full(len(params), np.nan)
    moved = np.linalg.solve(scaled, hessian[np.ix_(kept, aliased)] / scale[:, None]) @ params[aliased] / scale
    found[kept] = params[kept] + moved
    inverse = np.full_like(hessian, np.nan)
    inverse[np.ix_(kept, kept)] = np.linalg.inv(scaled) / np.multiply.outer(scale, scale)
    return Identified(kept, aliased, found, inverse)


def find_aliased(hessian: Float64s, candidates: int | None = None) -> tuple[Int64s, Int64s]:
    """The columns that are kept, and those that the ones before them explain: a Cholesky factorisation in
    the order of the columns, in which nothing is left of the latter."""
    candidates = len(hessian) if candidates is None else candidates
    scale = np.sqrt(np.abs(np.diag(hessian)))
    empty = scale <= 0
    scale = np.where(empty, 1.0, scale)
    left = hessian / np.multiply.outer(scale, scale)
    kept, aliased = list[int](), list[int]()
    for j in range(len(left)):
        if j < candidates and (empty[j] or left[j, j] < np.sqrt(FLAT) * 1e-3):
            aliased.append(j)
            continue
        kept.append(j)
        left = left - np.multiply.outer(left[:, j], left[j]) / left[j, j]
    return np.array(kept, np.int64), np.array(aliased, np.int64)
