"""Clients of the study of foundations: digits and quadratic losses."""

from __future__ import annotations

import numpy as np

from unalike.data import Federation, load
from unalike.data.sources.quadratic import Quadratics, quadratic_truth, weighted_optimum
from unalike.models import Task, linear, mlp
from unalike.typing import Float64s

RATE, STEPS = 0.05, 10
SHAPE = {"dimension": 6, "spread": 1.0, "condition": 8.0, "repeats": 3}
"""The quadratic clients: six dimensions, Hessians with eigenvalues from 1 to 8, unequal sizes."""


def digits(seed: int, clients: int) -> tuple[Federation, Task]:
    """Handwritten digits with skewed labels, and a small perceptron."""
    federation = load("digits", partition="dirichlet:0.3", clients=clients, seed=seed)
    return federation, Task.classification(mlp(32, input_shape=(8, 8, 1), outputs=10), classes=10)


def quadratic(seed: int) -> tuple[Federation, Task, Quadratics]:
    """Clients with quadratic losses, a linear model, and what is known of them."""
    arguments = ",".join(str(value) for value in SHAPE.values())
    federation = load(f"quadratic:{arguments}", clients=8, seed=seed)
    task = Task.regression(linear(0, input_shape=federation.input_shape, outputs=1))
    return federation, task, quadratic_truth(**SHAPE, clients=8, seed=seed)  # type: ignore[arg-type]


def drifted_optimum(truth: Quadratics, rate: float, steps: int) -> Float64s:
    """Where FedAvg with full-batch local steps ends: each client counts with I - (I - rate H)^steps instead
    of H."""
    identity = np.eye(truth.hessians.shape[1])
    pulls = np.stack([identity - np.linalg.matrix_power(identity - rate * h, steps) for h in truth.hessians])
    return weighted_optimum(truth._replace(hessians=pulls))
