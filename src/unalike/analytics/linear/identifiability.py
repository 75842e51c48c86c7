"""Identifiable coefficients: collinear columns are left out, and named.

In the order of the columns, one that the ones before it explain is aliased: its coefficient is set to zero,
and those before it take over, as statistics programs do. That is a property of the columns, so that it is
read off their sums of products (the curvature at the start), not off the curvature at the end, which also
vanishes where rows are predicted with certainty (:mod:`.separation`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...typing import Float64s, Int64s
from .newton import FLAT
from .separation import find_separated, inverse_beside


class Identified(NamedTuple):
    """Coefficients and their information matrix without aliased columns."""

    kept: Int64s
    aliased: Int64s
    params: Float64s
    """All coefficients; NaN for aliased ones and for those whose estimate does not exist."""
    inverse: Float64s
    """The inverse of the kept columns' information, with NaN for the same."""
    reached: Float64s
    """All coefficients as far as they came, 0 for aliased ones: what predicts."""
    drift: Float64s
    """-1 or 1 where a coefficient has no estimate because it would grow that way for ever, else 0."""


def identify(
    params: Float64s,
    hessian: Float64s,
    gram: Float64s | None = None,
    gradient: Float64s | None = None,
    rows: float = 0.0,
) -> Identified:
    """The coefficients that are determined by the information `hessian`; `gram` is that of the columns (the
    same where it is not given), and with the `gradient` what grows without end is found.

    >>> both = np.array([[2.0, 2.0], [2.0, 2.0]])        # twice the same column
    >>> identify(np.array([0.5, 0.5]), both).params
    array([ 1., nan])
    """
    columns = hessian if gram is None else gram
    kept, aliased = find_aliased(columns)
    among = np.ix_(kept, kept)
    scale = np.sqrt(np.maximum(np.diag(columns)[kept], 1e-300))
    scaled = columns[among] / np.multiply.outer(scale, scale)
    reached = np.zeros(len(params))
    moved = np.linalg.solve(scaled, columns[np.ix_(kept, aliased)] / scale[:, None]) @ params[aliased] / scale
    reached[kept] = params[kept] + moved
    inverse, found, drift = np.full_like(hessian, np.nan), reached.copy(), np.zeros(len(params))
    found[aliased] = np.nan
    if gradient is None:
        inverse[among] = _inverse(hessian[among])
        return Identified(kept, aliased, found, inverse, reached, drift)
    apart = find_separated(hessian[among], columns[among], gradient[kept], rows)
    drift[kept] = apart.drift
    endless = drift != 0
    inverse[among] = inverse_beside(hessian[among], apart.directions)
    inverse[endless], inverse[:, endless], found[endless] = np.nan, np.nan, np.nan
    return Identified(kept, aliased, found, inverse, reached, drift)


def _inverse(hessian: Float64s) -> Float64s:
    scale = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    outer = np.multiply.outer(scale, scale)
    return np.asarray(np.linalg.inv(hessian / outer) / outer, np.float64)


def find_aliased(hessian: Float64s) -> tuple[Int64s, Int64s]:
    """The columns that are kept, and those that the ones before them explain: a Cholesky factorization in
    the order of the columns, in which nothing is left of the latter."""
    scale = np.sqrt(np.abs(np.diag(hessian)))
    empty = scale <= 0
    scale = np.where(empty, 1.0, scale)
    left = hessian / np.multiply.outer(scale, scale)
    kept, aliased = list[int](), list[int]()
    for j in range(len(left)):
        if empty[j] or left[j, j] < np.sqrt(FLAT) * 1e-3:
            aliased.append(j)
            continue
        kept.append(j)
        left = left - np.multiply.outer(left[:, j], left[j]) / left[j, j]
    return np.array(kept, np.int64), np.array(aliased, np.int64)
