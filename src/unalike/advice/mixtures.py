"""What mixture weights reveal about clients: clusters, similarity and rare components.

FedEM gives every client a share of each component (Marfoq, Neglia, Bellet, Kameni, Vidal, Federated
Multi-Task Learning under a Mixture of Distributions, 2021). The shares stay with the clients; where clients
disclose them, they say who resembles whom (Omega = Pi Pi'), which clusters there are, and which components
nobody needs. Components have no order, so a comparison with a truth first looks for the best matching.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import jax
import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.special import xlogy

from ..errors import ConfigError
from ..runs import higher_is_better
from ..training.run import Run
from ..typing import Float64s, Int64s, PyTree


def mixture_weights(run: Run) -> Float64s:
    """The mixture weights (clients, components) of a run; NaN for clients that never took part."""
    memory, fresh = run.memories.gather(np.arange(len(run.setting.federation)))
    if not isinstance(memory, dict) or "weights" not in memory:
        raise ConfigError(f"{type(run.setting.algorithm).__name__} has no mixture weights; FedEM has.")
    return np.where(fresh[:, None], np.nan, np.asarray(memory["weights"], np.float64))


def component_vectors(components: Iterable[PyTree]) -> Float64s:
    """Every component's parameters as one vector."""
    flat = [[np.ravel(np.asarray(leaf)) for leaf in jax.tree.leaves(one)] for one in components]
    return np.array([np.concatenate(parts) for parts in flat], np.float64)


# Who resembles whom ---------------------------------------------------------------------------------------


def similarity(weights: ArrayLike, cosine: bool = True) -> Float64s:
    """How alike clients are: the products of their mixture weights, or (`cosine`) their cosines.

    >>> similarity([[1, 0], [0, 1], [0, 2]]).round(6)
    array([[1., 0., 0.],
           [0., 1., 1.],
           [0., 1., 1.]])
    """
    rows = np.asarray(weights, np.float64)
    if cosine:
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    return np.asarray(rows @ rows.T, np.float64)


def clusters(weights: ArrayLike) -> Int64s:
    """The main component of every client."""
    return np.argmax(np.asarray(weights), axis=1)


def entropy(weights: ArrayLike) -> Float64s:
    """How mixed each client is: 0 for a single component, log(components) for equal parts.

    >>> entropy([[1, 0], [0.5, 0.5]]).round(4)
    array([0.    , 0.6931])
    """
    rows = np.asarray(weights, np.float64)
    return np.asarray(0.0 - xlogy(rows, rows).sum(axis=1), np.float64)


def component_rows(weights: ArrayLike, sizes: ArrayLike) -> Float64s:
    """How many rows every component explains."""
    return np.asarray(np.asarray(sizes, np.float64) @ np.asarray(weights, np.float64), np.float64)


def dead_components(weights: ArrayLike, sizes: ArrayLike, least: float = 1.0) -> list[int]:
    """Components that explain less than one row of all clients together."""
    return np.flatnonzero(component_rows(weights, sizes) < least).tolist()


# Against a truth ------------------------------------------------------------------------------------------


class Recovery(NamedTuple):
    """How well a truth was found again, after the best matching of components."""

    order: Int64s
    """The found component of every true one."""
    components: float
    """The largest cosine distance of a component from its true one."""
    weights: float
    """The largest cosine distance of a client's mixture weights from its true ones."""
    clusters: float
    """The share of clients whose main component is the true one."""


def best_order(found: ArrayLike, truth: ArrayLike) -> Int64s:
    """The found component (row) that matches each true one, so that the cosines add up to the most.

    >>> best_order([[0, 1], [2, 0]], [[1, 0], [0, 1]])
    array([1, 0])
    """
    cosines = _cosines(np.asarray(truth, np.float64), np.asarray(found, np.float64))
    if cosines.shape[0] > cosines.shape[1]:
        raise ConfigError(f"{cosines.shape[1]} components cannot match {cosines.shape[0]} true ones.")
    return linear_sum_assignment(-cosines)[1]


def recovery(
    found: ArrayLike, weights: ArrayLike, true_components: ArrayLike, true_weights: ArrayLike
) -> Recovery:
    """Compare components and mixture weights with the truth behind the data."""
    found, truth = np.asarray(found, np.float64), np.asarray(true_components, np.float64)
    order = best_order(found, truth)
    shares, true_shares = np.asarray(weights, np.float64)[:, order], np.asarray(true_weights, np.float64)
    apart = 1 - np.diag(_cosines(truth, found[order]))
    shares_apart = 1 - np.einsum("tm,tm->t", _unit(shares), _unit(true_shares))
    same = clusters(shares) == clusters(true_shares)
    return Recovery(order, float(apart.max()), float(shares_apart.max()), float(same.mean()))


# For whom it pays -----------------------------------------------------------------------------------------


def gains(run: Run, alone: Run, metric: str = "accuracy", split: str = "test") -> Float64s:
    """By how much every client is better off than alone, so that it can see whether staying helps."""
    together, local = (one.evaluate(split)[metric] for one in (run, alone))
    return together - local if higher_is_better(metric) else local - together


def _unit(rows: Float64s) -> Float64s:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)


def _cosines(a: Float64s, b: Float64s) -> Float64s:
    return np.asarray(_unit(a) @ _unit(b).T, np.float64)
