"""Misalignment of two clients' principal directions.

E. Buttaci, "Does Perturbation Aid Convergence?" (MSc thesis, Politecnico di Torino), equation 3.1: for unit
vectors

    mis(i, j) = (1 - m_i . m_j) / 2 = ||m_i - m_j||^2 / 4,

0 for the same direction, 1/2 for a right angle, 1 for opposite ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...errors import DataError
from ...typing import Float64s

RIGHT_ANGLE = 0.5
"""No two clients with non-negative features exceed this, unless a sign is wrong."""


def misalignment(messages: ArrayLike, others: ArrayLike | None = None) -> Float64s:
    """Misalignments of all pairs of rows, or of every row with every other one, in double precision.

    >>> misalignment([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    array([[0. , 0.5, 1. ],
           [0.5, 0. , 0.5],
           [1. , 0.5, 0. ]])
    """
    left = check_messages(messages)
    right = left if others is None else check_messages(others)
    return np.clip((1 - left @ right.T) / 2, 0.0, 1.0)


def check_messages(messages: ArrayLike) -> Float64s:
    """Messages as a table of unit vectors; a DataError if they are not of one dimension, or not finite."""
    try:
        table = np.asarray(messages, np.float64)
    except ValueError:
        raise DataError("messages of clients must all have the same number of features.") from None
    if table.ndim != 2 or not np.isfinite(table).all():
        raise DataError(f"messages must be finite rows of a table, but have shape {table.shape}.")
    if np.abs(np.linalg.norm(table, axis=1) - 1).max(initial=0.0) > 1e-6:
        raise DataError("messages must be unit vectors; make them with principal_direction.")
    return table


def pairs(matrix: Float64s) -> Float64s:
    """The entries above the diagonal: every pair once.

    >>> pairs(np.array([[0.0, 1.0], [1.0, 0.0]]))
    array([1.])
    """
    return matrix[np.triu_indices(len(matrix), 1)]
