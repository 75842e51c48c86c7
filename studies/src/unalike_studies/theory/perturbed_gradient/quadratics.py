"""Exact dynamics of FedProx and perturbed gradients on quadratics, beside the bounds.

Clients have f_i(w) = (w - c_i)' H_i (w - c_i) / 2, so that L, mu, Gamma and the optimum are known, and
nothing is random. All pairs of clients are equally similar.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from unalike.theory.perturbed_gradient.problem import Method, Perturbed, Problem, Proximal
from unalike.typing import Float64s


class Quadratics(NamedTuple):
    """Clients of equal importance."""

    curvatures: Float64s
    """H_i, as (clients, dimension, dimension)."""
    centers: Float64s
    """c_i, as (clients, dimension)."""

    @property
    def optimum(self) -> Float64s:
        """w*, where the mean gradient is zero."""
        right = np.einsum("cij,cj->i", self.curvatures, self.centers)
        return np.linalg.solve(self.curvatures.sum(axis=0), right)

    def loss(self, w: Float64s) -> float:
        """f(w), the mean over clients; each client's least loss is zero."""
        away = w - self.centers
        return float(np.einsum("ci,cij,cj->", away, self.curvatures, away)) / (2 * len(away))


class Path(NamedTuple):
    """What a run went through."""

    gaps: Float64s
    """The loss above its least value before the first round and after each."""
    largest_squared_gradient: float
    """G^2 along the path."""
    largest_drift: float
    """The largest |wbar - x_i|^2, x_i being where client i took a gradient."""


def random_quadratics(clients: int, dimension: int, seed: int) -> Quadratics:
    """Curvatures with eigenvalues between 0.2 and 1, centers of unit variance."""
    rng = np.random.default_rng(seed)
    bases = np.linalg.qr(rng.normal(size=(clients, dimension, dimension)))[0]
    values = rng.uniform(0.2, 1.0, (clients, dimension))
    return Quadratics(
        np.einsum("cij,cj,ckj->cik", bases, values, bases), rng.normal(size=(clients, dimension))
    )


def measure_problem(clients: Quadratics, start: Float64s, squared_gradient: float = 0.0) -> Problem:
    """Their constants; G^2 is what a path has shown."""
    values = np.linalg.eigvalsh(clients.curvatures)
    least = clients.loss(clients.optimum)
    return Problem(
        smoothness=float(values.max()),
        convexity=float(values.min()),
        squared_gradient=squared_gradient,
        heterogeneity=least,
        initial_gap=clients.loss(start) - least,
        squared_weights=1 / len(clients.centers),
    )


def run(
    method: Method,
    clients: Quadratics,
    step: float | Callable[[int], float],
    local_steps: int,
    rounds: int,
    start: Float64s,
) -> Path:
    """All clients in every round, with full gradients."""
    w, count = np.asarray(start, np.float64), len(clients.centers)
    last, least = np.tile(w, (count, 1)), clients.loss(clients.optimum)
    gaps, squares, drifts = [clients.loss(w) - least], [0.0], [0.0]
    for t in range(rounds):
        gamma = step(t) if callable(step) else step
        towards = (last.sum(axis=0) - last) / (count - 1)
        models = np.tile(w, (count, 1))
        for _ in range(local_steps):
            points = _points(method, models, towards)
            gradients = np.einsum("cij,cj->ci", clients.curvatures, points - clients.centers)
            squares.append(float((gradients**2).sum(axis=1).max()))
            drifts.append(float(((models.mean(axis=0) - points) ** 2).sum(axis=1).max()))
            models = models - gamma * (gradients + _pull(method) * (models - w))
        last, w = models, models.mean(axis=0)
        gaps.append(clients.loss(w) - least)
    return Path(np.array(gaps), max(squares), max(drifts))


def _points(method: Method, models: Float64s, towards: Float64s) -> Float64s:
    """Where gradients are taken."""
    if isinstance(method, Perturbed):
        return method.beta * models + (1 - method.beta) * towards
    return models


def _pull(method: Method) -> float:
    return method.alpha if isinstance(method, Proximal) else 0.0
