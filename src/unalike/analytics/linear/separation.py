"""Complete and quasi-complete separation: coefficients that the likelihood pushes to infinity.

Where some combination of columns tells yes from no in all rows that it involves, the likelihood grows along
it for ever, and the maximum likelihood estimate of every coefficient in it does not exist; the other
coefficients have limits, and so do their standard errors (A. Albert and J. Anderson, "On the Existence of
Maximum Likelihood Estimates in Logistic Regression Models", 1984). It shows in the sums of the last round:
with G = X'X/4, the curvature at the start, a direction d of coefficients is separated if

    d'H d n / d'G d  is near 0         the rows that it involves are predicted with certainty, and yet
    4 |G^1/2 H^-1 g|^2 along d  is not     Newton's method would still change their log-odds

At a maximum the second is 0, whatever the first: a far-off row that is predicted well separates nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...typing import Float64s

CERTAIN = 0.1
"""Rows with an event against them have at least about one half of information between them, times four."""
MOVING = 1e-2
"""The sum of squared changes of rows' log-odds in one more step."""
INVOLVED = 1e-5
"""The share of a coefficient in a direction below which it is rounding."""


class Separated(NamedTuple):
    """Combinations of coefficients that grow without end."""

    directions: Float64s
    """One per column."""
    drift: Float64s
    """Where each coefficient is pushed: -1, 1, or 0 for those that have an estimate."""


def find_separated(hessian: Float64s, gram: Float64s, gradient: Float64s, rows: float) -> Separated:
    """What is separated; the matrices are of columns that no others explain.

    >>> sure = np.diag([1e-9, 2.0])
    >>> find_separated(sure, np.diag([2.0, 5.0]), np.array([1e-9, 0.0]), 20).drift.tolist()
    [-1.0, 0.0]
    >>> find_separated(sure, np.diag([2.0, 5.0]), np.zeros(2), 20).drift.tolist()
    [0.0, 0.0]
    """
    scale = np.sqrt(np.diag(gram))
    root = np.linalg.cholesky(gram / np.multiply.outer(scale, scale))
    curved = np.linalg.solve(root, np.linalg.solve(root, hessian / np.multiply.outer(scale, scale)).T)
    values, vectors = np.linalg.eigh(0.5 * (curved + curved.T))
    step = -(vectors.T @ np.linalg.solve(root, gradient / scale)) / np.maximum(values, 1e-300)
    certain = values * rows < CERTAIN
    moving = certain & (4 * step**2 > MOVING)
    # Directions of the same curvature are mixed at will, so that one of them may seem to be at rest.
    found = certain & (values <= 1e4 * np.maximum(values[moving].max(initial=-np.inf), 1e-300))
    found = found if moving.any() else moving
    directions = np.linalg.solve(root.T, vectors[:, found])  # of columns scaled to one
    share = np.abs(directions / np.linalg.norm(directions, axis=0)).max(axis=1, initial=0.0)
    drift = np.where(share > INVOLVED, np.where(directions @ step[found] < 0, -1.0, 1.0), 0.0)
    return Separated(directions / scale[:, None], drift)


def inverse_beside(hessian: Float64s, directions: Float64s) -> Float64s:
    """The inverse of the information along everything that is orthogonal to some directions."""
    scale = np.sqrt(np.diag(hessian))
    normal = np.linalg.qr(directions * scale[:, None], mode="complete")[0]
    rest = normal[:, directions.shape[1] :]
    inner = np.linalg.inv(rest.T @ (hessian / np.multiply.outer(scale, scale)) @ rest)
    return np.asarray(rest @ inner @ rest.T / np.multiply.outer(scale, scale), np.float64)
