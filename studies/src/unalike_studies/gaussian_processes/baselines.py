"""Baselines: neural networks and polynomials that are shared as they are."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import chebyshev

from unalike.algorithms import Algorithm, Ditto, FedAvg, LocalWork, Optimizer
from unalike.data import Federation
from unalike.models import Task, mlp
from unalike.training.train import train
from unalike.typing import Float64s

from .data import Rows


def network_errors(
    clients: list[Rows],
    tests: list[Rows],
    ditto: bool,
    rounds: int,
    seed: int,
    hidden: tuple[int, ...] = (64,),
) -> Float64s:
    """Each client's root mean squared error, of FedAvg's network or of Ditto's personal ones."""
    named = {
        str(i): {"train": own, "test": other}
        for i, (own, other) in enumerate(zip(clients, tests, strict=True))
    }
    federation = Federation.from_clients(named, seed=seed)
    settings = {"work": LocalWork(epochs=1, batch_size=32), "optimizer": Optimizer("adam", 0.005)}
    method: Algorithm = Ditto(**settings, lam=0.1) if ditto else FedAvg(**settings)  # type: ignore[arg-type]
    task = Task.regression(mlp(*hidden, input_shape=federation.input_shape, outputs=1))
    run = train(federation, task, method, rounds=rounds, seed=seed, evaluate_every=0)
    return run.evaluate()["rmse"]


def pooled_polynomial(clients: list[Rows], degree: int) -> Float64s:
    """The least-squares polynomial of all clients' rows, to which federated averaging of gradients converges;
    inputs lie between 0 and 1."""
    x = np.concatenate([rows[0][:, 0] for rows in clients])
    y = np.concatenate([rows[1] for rows in clients])
    return chebyshev.chebfit(2 * x - 1, y, degree)


def polynomial_values(coefficients: Float64s, x: Float64s) -> Float64s:
    """A pooled polynomial at rows."""
    return np.asarray(chebyshev.chebval(2 * x[:, 0] - 1, coefficients))
