"""Overlays raced by training: rounds are measured, seconds come from the network's clock.

A softmax regression on Gaussian classes, unevenly dealt to the silos, is trained by DPASGD on every overlay;
the target is a part of the best accuracy that the mean model reaches on the first overlay. So a sparse
overlay's shorter rounds and its slower mixing are weighed against each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..algorithms import LocalWork, Optimizer
from ..algorithms.dpasgd import DPASGD
from ..data import load
from ..models import Task, linear
from ..topology import Connectivity, Design, OnNetwork
from ..training.train import train

CLASSES, DIMENSION, ROWS = 20, 20, 200


class Finish(NamedTuple):
    """When an overlay reached the target; infinite where it never did."""

    rounds: float
    seconds: float
    accuracy: float
    """The best of the mean model."""


def race(
    designs: Mapping[str, Design],
    connectivity: Connectivity,
    *,
    rounds: int = 60,
    part: float = 0.97,
    seed: int = 0,
) -> dict[str, Finish]:
    """Train on every overlay and say when each reaches a part of the best accuracy on the first."""
    curves = {name: _curve(design, connectivity, rounds, seed) for name, design in designs.items()}
    goal = part * max(curves[next(iter(curves))][0])
    return {name: _finish(*curve, goal) for name, curve in curves.items()}


def _curve(
    design: Design, connectivity: Connectivity, rounds: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The mean model's accuracy after every round, and the clock."""
    silos = len(connectivity)
    rows = silos * ROWS
    data = f"gaussians:{CLASSES},{DIMENSION},2"
    federation = load(data, partition="dirichlet:0.5", clients=silos, samples=rows, seed=seed)
    task = Task.classification(linear(input_shape=(DIMENSION,), outputs=CLASSES), CLASSES)
    steps = connectivity.local_steps
    method = DPASGD(
        work=LocalWork(steps=steps, batch_size=16), optimizer=Optimizer("sgd", 0.5, "inverse-sqrt")
    )
    timing = OnNetwork(design, connectivity)
    run = train(federation, task, method, rounds=rounds, timing=timing, evaluate_every=1, seed=seed)
    metrics = run.metrics()
    clock = np.nan_to_num(metrics["clock"])
    return metrics["mean_model_test_accuracy"], clock


def _finish(accuracy: np.ndarray, clock: np.ndarray, goal: float) -> Finish:
    there = np.flatnonzero(accuracy >= goal)
    best = float(np.nanmax(accuracy))
    return (
        Finish(float(there[0]), float(clock[there[0]]), best) if len(there) else Finish(np.inf, np.inf, best)
    )
