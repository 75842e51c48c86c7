"""Network homogeneity: one number for how similar all clients are.

E. Buttaci, "Does Perturbation Aid Convergence?" (MSc thesis, Politecnico di Torino), equations 3.2 to 3.6:
half the mean weight of an edge, or the mean of the non-zero eigenvalues over twice the number of clients,

    hom = sum_{i != j} A_ij / (2 n (n - 1)) = sum_{k >= 2} l_k / (2 n (n - 1)).

The model behind it, weights A_ij ~ Normal(theta, phi^2), has theta = 2 hom. What is small may be noise of
sampling: between clients that are alike, misalignments fall like 1 / rows, so hom grows like (ln rows) / 2.
Therefore it is compared with that of the same rows, shuffled among clients of the same sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import scipy

from ...core.random import generator
from ...typing import ClientIds, Float64s
from ..federation import Split
from .graph import adjacency
from .misalignment import misalignment
from .principal_direction import shuffled_messages


class NormalFit(NamedTuple):
    """Edge weights as draws from a normal law: misalignments as draws from a log-normal one."""

    theta: float
    phi: float
    distance: float
    """Of Kolmogorov and Smirnov, between the weights and that law."""


def homogeneity(weights: Float64s) -> float:
    """Half the mean weight of an edge; not a number for fewer than two clients.

    >>> homogeneity(np.array([[0.0, 3.0], [3.0, 0.0]]))
    1.5
    """
    n = len(weights)
    return float(weights.sum() / (2 * n * (n - 1))) if n > 1 else float("nan")


def homogeneity_of_spectrum(values: Float64s) -> float:
    """The same from the eigenvalues of the Laplacian.

    >>> homogeneity_of_spectrum(np.array([0.0, 6.0]))
    1.5
    """
    n = len(values)
    return float(np.sum(values) / (2 * n * (n - 1))) if n > 1 else float("nan")


def fit_normal(edges: Float64s) -> NormalFit:
    """Mean, standard deviation and fit of edge weights, each pair once.

    >>> fit_normal(np.array([1.0, 3.0]))[:2]
    (2.0, 1.0)
    """
    if not len(edges):
        return NormalFit(*[float("nan")] * 3)
    theta, phi = float(edges.mean()), float(edges.std())
    distance = (
        float(scipy.stats.kstest(edges, scipy.stats.norm(theta, phi).cdf).statistic) if phi > 0 else 1.0
    )
    return NormalFit(theta, phi, distance)


def iid_reference(split: Split, repeats: int = 1, seed: int = 0, among: ClientIds | None = None) -> float:
    """The mean homogeneity of clients (or those among them) of the same sizes that all draw from the same
    rows."""
    return float(np.mean([homogeneity(shuffled_weights(split, seed, k, among)) for k in range(repeats)]))


def shuffled_weights(
    split: Split,
    seed: int = 0,
    repeat: int = 0,
    among: ClientIds | None = None,
    blur: Callable[[Float64s], Float64s] | None = None,
) -> Float64s:
    """The weights of edges between clients of the same sizes whose rows are dealt at random; their messages
    are blurred like those that they are compared with."""
    _, messages = shuffled_messages(split, generator(seed, "iid reference", repeat), among)
    return adjacency(misalignment(messages if blur is None else blur(messages)))


def subset_homogeneity(weights: Float64s, subsets: Iterable[ClientIds]) -> Float64s:
    """The homogeneity among some clients only, for each subset: a round's cohort, or who is available.

    >>> weights = np.array([[0.0, 4.0, 1.0], [4.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    >>> subset_homogeneity(weights, [np.array([0, 1]), np.array([0, 2]), np.array([1])])
    array([2. , 0.5, nan])
    """
    distinct = (np.unique(chosen) for chosen in subsets)
    return np.array([homogeneity(weights[np.ix_(some, some)]) for some in distinct])
