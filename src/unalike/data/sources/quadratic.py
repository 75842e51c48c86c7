"""Quadratic losses in closed form.

A regression without noise in which client i's rows A_i satisfy A_i'A_i / n_i = H_i and its targets are A_i
c_i. Then half the mean squared error of a linear model without intercept is exactly

    F_i(theta) = 1/2 (theta - c_i)' H_i (theta - c_i),

with optimum c_i and Hessian H_i known in closed form: the laboratory for every claim about bias and
convergence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...core.random import generator
from ...typing import Float64s, Int64s
from ..federation import Federation
from ..sizes import whole
from .source import check_memory, source_registry


class Quadratics(NamedTuple):
    """Every client's optimum (clients, d), Hessian (clients, d, d) and number of rows."""

    optima: Float64s
    hessians: Float64s
    sizes: Int64s


@source_registry.add("quadratic")
def quadratic(
    dimension: int = 10,
    spread: float = 1.0,
    condition: float = 1.0,
    repeats: int = 1,
    *,
    clients: int = 100,
    seed: int = 0,
) -> Federation:
    """Quadratic losses with known optima `spread` apart and Hessians of known condition number.

    Cutting rows away would change the Hessians, so all rows are for training and the test rows are the same
    ones. A client's rows appear 1 to `repeats` times, which changes its importance but not its loss.
    """
    whole(dimension, "the dimension"), whole(repeats, "repeats")
    check_memory(4 * 8 * dimension**2 * clients)
    optima, hessians, sizes = quadratic_truth(
        dimension, spread, condition, repeats, clients=clients, seed=seed
    )
    roots = _roots(hessians)
    rows = np.sqrt(dimension) * roots
    targets = np.einsum("knd,kd->kn", rows, optima)
    again = np.repeat(np.arange(clients), sizes // dimension)
    federation = Federation.from_owners(
        rows[again].reshape(-1, dimension),
        targets[again].reshape(-1),
        np.repeat(again, dimension),
        clients=clients,
        classes=None,
        description=f"quadratic losses in {dimension} dimensions",
    )
    return Federation(
        federation.train, federation.validation, federation.train, None, description=federation.description
    )


def quadratic_truth(
    dimension: int = 10,
    spread: float = 1.0,
    condition: float = 1.0,
    repeats: int = 1,
    *,
    clients: int = 100,
    seed: int = 0,
) -> Quadratics:
    """The optima, Hessians and sizes of the `quadratic` data set made with the same arguments.

    Eigenvalues of every Hessian are spaced by equal factors from 1 to `condition`; their axes are random.
    """
    rng = generator(seed, "quadratic")
    optima = spread * rng.standard_normal((clients, dimension))
    axes = np.linalg.qr(rng.standard_normal((clients, dimension, dimension)))[0]
    eigenvalues = np.geomspace(1.0, condition, dimension)
    hessians = np.einsum("kij,j,klj->kil", axes, eigenvalues, axes)
    return Quadratics(optima, hessians, dimension * rng.integers(1, repeats + 1, clients))


def weighted_optimum(truth: Quadratics, weights: ArrayLike | None = None) -> Float64s:
    """Where the weighted sum of the clients' losses is least; weights are the sizes when not given."""
    w = np.asarray(truth.sizes if weights is None else weights, dtype=np.float64)
    pull = np.einsum("k,kij,kj->i", w, truth.hessians, truth.optima)
    return np.asarray(np.linalg.solve(np.einsum("k,kij->ij", w, truth.hessians), pull), np.float64)


def _roots(hessians: Float64s) -> Float64s:
    """Matrices R with R'R = H."""
    return np.linalg.cholesky(hessians).transpose(0, 2, 1).astype(np.float64)
