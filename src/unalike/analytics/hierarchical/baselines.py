"""Baselines of hierarchical models: separate and pooled fits, in closed form where possible.

    ols        each device's least squares          ridge      (X'X + lam I)^-1 X'y at each device
    pooled     least squares of all rows together   dis-ridge  the mean of the devices' ridge solutions
    separate   steps of gradient descent alone      fedavg, ditto    as unalike.algorithms has them

The divide-and-conquer ridge penalizes the mean squared error: (X'X/n + lam I)^-1 X'y/n.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...algorithms import Algorithm, Ditto, FedAvg, Local, LocalWork, Optimizer
from ...training.run import Run
from ...typing import Float64s, Keywords
from ..design import Design
from ..fitting import fit_rounds, linear_task


def ols_each(design: Design) -> Float64s:
    """Least squares of every device on its own; the shortest solution where rows are too few."""
    return np.stack([np.linalg.lstsq(*design.client(i), rcond=None)[0] for i in range(len(design))])


def ridge_each(design: Design, lam: float = 1.0) -> Float64s:
    """Ridge regression of every device on its own; lam is noise over prior variance."""
    eye = lam * np.eye(len(design.terms))
    return np.stack([_solve(*design.client(i), eye) for i in range(len(design))])


def pooled_ols(design: Design) -> Float64s:
    """Least squares of all rows as if they were one device's, repeated for every device."""
    found = np.linalg.lstsq(design.federation.train.x, design.federation.train.y, rcond=None)[0]
    return np.tile(found, (len(design), 1))


def dis_ridge(design: Design, lam: float = 1e-3) -> Float64s:
    """The mean of the devices' ridge solutions, one round, repeated for every device."""
    eye, each = np.eye(len(design.terms)), []
    for i in range(len(design)):
        x, y = design.client(i)
        each.append(_solve(x, y, lam * len(x) * eye))
    return np.tile(np.mean(each, axis=0), (len(design), 1))


def separate(design: Design, rounds: int = 30, steps: int = 20, rate: float = 0.05, **training: Any) -> Run:
    """Every device descends alone, as many steps as it would take in the rounds."""
    return _run(design, Local(optimizer=_sgd(rate), work=_work(steps, training)), rounds, training)


def fedavg(design: Design, rounds: int = 30, steps: int = 20, rate: float = 0.05, **training: Any) -> Run:
    """One model for all devices, which count equally."""
    return _run(design, FedAvg(optimizer=_sgd(rate), work=_work(steps, training)), rounds, training)


def ditto(
    design: Design, rounds: int = 30, steps: int = 20, rate: float = 0.05, lam: float = 0.1, **training: Any
) -> Run:
    """A model of each device's own that stays near that of all."""
    return _run(design, Ditto(optimizer=_sgd(rate), lam=lam, work=_work(steps, training)), rounds, training)


def params_of(run: Run) -> Float64s:
    """The coefficients that every device predicts with after a baseline, one row per device."""
    algorithm, devices = run.setting.algorithm, len(run.setting.federation)
    shared = np.asarray(run.message, np.float64)
    if not algorithm.personalized:
        return np.tile(shared, (devices, 1))
    own, fresh = run.memories.gather(np.arange(devices))
    mine = np.asarray(own["params"], np.float64)
    return np.asarray(np.where(fresh[:, None], shared, mine), np.float64)


def _solve(x: Float64s, y: Float64s, penalty: Float64s) -> Float64s:
    return np.asarray(np.linalg.solve(x.T @ x + penalty, x.T @ y), np.float64)


def _sgd(rate: float) -> Optimizer:
    # The loss is half the squared error; HM1 descends on the whole of it.
    return Optimizer("sgd", 2 * rate)


def _work(steps: int, training: Keywords) -> LocalWork:
    return LocalWork(steps=steps, batch_size=training.pop("batch_size", 0))


def _run(design: Design, algorithm: Algorithm, rounds: int, training: Keywords) -> Run:
    return fit_rounds(design, linear_task(design), algorithm, rounds, **training)
