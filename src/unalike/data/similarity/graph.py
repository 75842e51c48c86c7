"""Similarity graph of clients: its Laplacian and spectrum.

E. Buttaci, "Does Perturbation Aid Convergence?" (MSc thesis, Politecnico di Torino), equation 3.4: every two
clients are joined by an edge of weight

    A_ij = -ln mis(i, j),     L = diag(A 1) - A,

so that the eigenvalues 0 = l_1 <= l_2 <= ... <= l_n of the Laplacian L lie high where clients are alike. The
eigenvector of l_2 (Fiedler, "Algebraic Connectivity of Graphs", 1973) puts those next to each other that are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...typing import Float64s, Int64s

SMALLEST = 1e-12
"""Misalignment of clients that are the same; it keeps weights below 27.64."""


class Spectrum(NamedTuple):
    """Eigenvalues of a Laplacian, ascending, and its eigenvectors in columns."""

    values: Float64s
    vectors: Float64s

    @property
    def fiedler(self) -> Float64s:
        """The eigenvector of the second eigenvalue, with a positive largest entry; zeros for one client."""
        if len(self.values) < 2:
            return np.zeros(len(self.values))
        vector = self.vectors[:, 1]
        return np.asarray(vector * np.sign(vector[np.argmax(np.abs(vector))]))

    def layout(self) -> Float64s:
        """Places in the plane: the second and third eigenvectors."""
        return np.pad(self.vectors[:, 1:3], ((0, 0), (0, max(0, 3 - len(self.values)))))


def adjacency(misalignments: ArrayLike, smallest: float = SMALLEST) -> Float64s:
    """Weights of edges, symmetric with a zero diagonal; misalignments below the smallest count as that.

    >>> adjacency([[0.0, np.exp(-2)], [np.exp(-2), 0.0]])
    array([[0., 2.],
           [2., 0.]])
    """
    weights = edge_weights(misalignments, smallest)
    np.fill_diagonal(weights, 0.0)
    return (weights + weights.T) / 2


def edge_weights(misalignments: ArrayLike, smallest: float = SMALLEST) -> Float64s:
    """-ln of misalignments, kept finite."""
    return np.abs(np.log(np.clip(np.asarray(misalignments, np.float64), smallest, 1.0)))


def laplacian(weights: Float64s) -> Float64s:
    """The degrees on the diagonal, minus the weights."""
    return np.diag(weights.sum(axis=1)) - weights


def spectrum(weights: Float64s) -> Spectrum:
    """Of the Laplacian of a graph; what rounding leaves below zero is zero.

    >>> spectrum(np.array([[0.0, 3.0], [3.0, 0.0]])).values
    array([0., 6.])
    """
    values, vectors = np.linalg.eigh(laplacian(weights))
    negligible = 1e-9 * max(float(values[-1]), 1.0)
    return Spectrum(np.where(np.abs(values) < negligible, 0.0, values), vectors)


def variability(weights: Float64s, values: Float64s) -> float:
    """How much vectors of neighbors differ: trace(V^T L V) = 1/2 sum_ij A_ij ||v_i - v_j||^2.

    >>> variability(np.array([[0.0, 3.0], [3.0, 0.0]]), np.array([[1.0], [3.0]]))
    12.0
    """
    degrees = weights.sum(axis=1)
    return float(np.sum(degrees * np.square(values).sum(axis=1)) - np.sum(values * (weights @ values)))


def fiedler_order(found: Spectrum) -> Int64s:
    """Clients in the order of the Fiedler vector: those that are alike stand together."""
    return np.argsort(found.fiedler, kind="stable")


def degree_weights(degrees: Float64s) -> Float64s:
    """What clients count by their likeness to all others: p_i = d_i / sum_j d_j, equal if nobody is like
    anybody.

    >>> degree_weights(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    total = degrees.sum()
    return degrees / total if total > 0 else np.full(len(degrees), 1 / len(degrees))
