"""Similarity weights of clients, from one principal direction per client.

Every client sends the first principal direction m_i of its rows, without centering them, and no labels
(Buttaci, Does Perturbation Aid Convergence?, MSc thesis, Politecnico di Torino). An edge weighs

    A_ij = -ln( (1 - m_i . m_j) / 2 ),      A_ii = 0,      p_i = sum_j A_ij / sum_ij A_ij

so that it is heavy where two directions agree, ln 2 where they are orthogonal and 0 where they are opposite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...data.federation import Federation
from ...data.similarity.graph import adjacency
from ...data.similarity.misalignment import misalignment
from ...data.similarity.principal_direction import client_messages
from ...errors import ConfigError
from ...typing import Float64s


@dataclass(frozen=True, eq=False)
class SimilarityWeights:
    """A symmetric table of weights between clients; equal tables are equal keys of compiled programs.

    >>> three = SimilarityWeights(np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]]))
    >>> three.importance.tolist(), three.mixing[0].tolist()
    ([0.5, 0.25, 0.25], [0.0, 0.5, 0.5])
    """

    edges: Float64s

    def __post_init__(self) -> None:
        edges = np.array(self.edges, np.float64)
        if edges.ndim != 2 or edges.shape[0] != edges.shape[1]:
            raise ConfigError(f"similarity needs a number per pair of clients, not shape {edges.shape}.")
        if not np.isfinite(edges).all() or edges.min(initial=0.0) < 0:
            raise ConfigError("similarities of clients must be finite and not negative.")
        if not np.allclose(edges, edges.T) or np.diag(edges).any():
            raise ConfigError("similarities of clients must be symmetric, with zeros on the diagonal.")
        object.__setattr__(self, "edges", edges)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SimilarityWeights) and np.array_equal(self.edges, other.edges)

    def __hash__(self) -> int:
        return hash(self.edges.tobytes())

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def importance(self) -> Float64s:
        """p_i, each client's part of all weights; equal where there are no edges at all."""
        degrees = self.edges.sum(axis=1)
        return degrees / degrees.sum() if degrees.any() else np.full(len(self), 1 / len(self))

    @property
    def mixing(self) -> Float64s:
        """P_ij = A_ij / sum_j A_ij: each row sums to one, or to zero for a client that is like nobody."""
        degrees = self.edges.sum(axis=1, keepdims=True)
        return np.divide(self.edges, degrees, out=np.zeros_like(self.edges), where=degrees > 0)


def similarity_weights(federation: Federation) -> SimilarityWeights:
    """The weights between all clients of a federation, from their training rows; a client without a direction
    is like nobody.

    >>> rows = {"a": np.eye(2)[[0, 0]], "b": np.eye(2)[[0]], "c": np.eye(2)[[1]]}
    >>> clients = Federation.from_clients({n: (x, np.zeros(len(x), int)) for n, x in rows.items()}, classes=1,
    ...     test_fraction=0.0)
    >>> similarity_weights(clients).edges.round(2)[0].tolist()
    [0.0, 27.63, 0.69]
    """
    edges = np.zeros((len(federation), len(federation)))
    if federation.train.x.any():  # a server of real clients has none of their rows
        known, messages = client_messages(federation.train)
        edges[np.ix_(known, known)] = adjacency(misalignment(messages))
    return SimilarityWeights(edges)
