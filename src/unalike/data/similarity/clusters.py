"""Spectral clustering of the similarity graph.

von Luxburg, "A Tutorial on Spectral Clustering" (2007): clients are points whose coordinates are the first
eigenvectors of the Laplacian, and near points are a group. How many groups there are is read from the largest
gap between consecutive eigenvalues,

    k = argmax_k (l_{k+1} - l_k).
"""

from __future__ import annotations

import numpy as np
import scipy

from ...errors import ConfigError
from ...typing import Float64s, Int64s
from .graph import Spectrum

MOST_GROUPS = 20


def count_groups(values: Float64s, most: int = MOST_GROUPS) -> int:
    """How many groups the eigenvalues speak of; 1 where clients are all alike.

    >>> count_groups(np.array([0.0, 1.0, 9.0, 9.5])), count_groups(np.array([0.0, 8.0, 9.0, 9.5]))
    (2, 1)
    """
    gaps = np.diff(values[: most + 1])
    return int(np.argmax(gaps)) + 1 if len(gaps) else 1


def spectral_groups(found: Spectrum, groups: int | None = None) -> Int64s:
    """The group of every client, numbered as they are first met; `groups` as the eigenvalues say if None.

    >>> two = np.kron(np.eye(2), np.ones((2, 2))) * 8 + 1.0
    >>> from unalike.data.similarity.graph import spectrum
    >>> spectral_groups(spectrum(two - np.diag(np.diag(two))))
    array([0, 0, 1, 1])
    """
    clients = len(found.values)
    wanted = count_groups(found.values) if groups is None else groups
    if not 1 <= wanted <= clients:
        raise ConfigError(f"{wanted} groups of {clients} clients are not possible; ask for 1 to {clients}.")
    if wanted == 1:
        return np.zeros(clients, np.int64)
    tree = scipy.cluster.hierarchy.linkage(found.vectors[:, 1:wanted], "ward")
    return _by_first(scipy.cluster.hierarchy.fcluster(tree, wanted, "maxclust"))


def _by_first(labels: Int64s) -> Int64s:
    """The same groups, numbered in the order in which they are first met."""
    _, first, which = np.unique(labels, return_index=True, return_inverse=True)
    place = np.empty(len(first), np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return place[which.ravel()]
