"""Central Metropolis draws, as a reference for federated posteriors.

For devices with more rows than coefficients, the least squares estimates are all that is needed:

    theta_hat_k ~ N(mu, diag(tau) + V_k),      V_k = noise_k (X'X)^-1

Several chains walk side by side and learn the shape of their moves from each other (Haario, Saksman,
Tamminen, An adaptive Metropolis algorithm, 2001) during the first half, which is thrown away.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from unalike.analytics.design import Design
from unalike.core.random import generator
from unalike.errors import DataError
from unalike.typing import Float64s

CHAINS = 16


def sample_population(
    design: Design, draws: int = 1000, seed: int = 0, noise: float | None = None
) -> Float64s:
    """Draws of (mu, log tau) given all rows, from each of several chains, one row each."""
    estimates, covariances = least_squares_each(design, noise)

    def log_posterior(phi: Float64s) -> Float64s:
        return log_likelihood(phi, estimates, covariances) - 0.5 * np.sum(phi**2, axis=1)

    logs = np.log(np.maximum(estimates.var(axis=0), 1e-3))
    start = np.concatenate([estimates.mean(axis=0), logs])
    return adaptive_metropolis(log_posterior, start, draws, seed)


def least_squares_each(design: Design, noise: float | None = None) -> tuple[Float64s, Float64s]:
    """Every device's least squares and their covariances."""
    found = []
    for i in range(len(design)):
        x, y = design.client(i)
        left = len(y) - x.shape[1]
        if left <= 0:
            raise DataError(f"client {design.federation.name(i)!r} has no more rows than coefficients.")
        inverse = np.linalg.inv(x.T @ x)
        estimate = inverse @ x.T @ y
        variance = np.sum((y - x @ estimate) ** 2) / left if noise is None else noise
        found.append((estimate, variance * inverse))
    return np.stack([e for e, _ in found]), np.stack([c for _, c in found])


def log_likelihood(phi: Float64s, estimates: Float64s, covariances: Float64s) -> Float64s:
    """Of each row of phi = (mu, log tau), given the devices' estimates."""
    width = estimates.shape[1]
    mu, tau = phi[:, :width], np.exp(phi[:, width:])
    spread = covariances + (tau[:, :, None] * np.eye(width))[:, None]
    gap = estimates - mu[:, None]
    squares = np.sum(gap * np.linalg.solve(spread, gap[..., None])[..., 0], axis=2)
    return -0.5 * np.sum(squares + np.linalg.slogdet(spread)[1], axis=1)


def adaptive_metropolis(
    log_density: Callable[[Float64s], Float64s], start: Float64s, draws: int, seed: int
) -> Float64s:
    """So many draws of each chain, all chains' below each other."""
    rng = generator(seed, "central sampling")
    width = len(start)
    points = start + 0.1 * rng.normal(size=(CHAINS, width))
    values, shape, scale = log_density(points), 0.1 * np.eye(width), 1.0
    kept, learned = [], []
    for step in range(2 * draws):
        moves = scale * 2.4 / np.sqrt(width) * rng.normal(size=points.shape) @ shape.T
        new = log_density(points + moves)
        accepted = np.log(rng.random(CHAINS)) < new - values
        points, values = np.where(accepted[:, None], points + moves, points), np.where(accepted, new, values)
        if step < draws:
            scale *= np.exp(0.1 * (accepted.mean() - 0.3))
            learned.append(points)
            if step % 100 == 99:
                recent = np.concatenate(learned[len(learned) // 2 :])
                shape = np.asarray(np.linalg.cholesky(np.cov(recent.T) + 1e-9 * np.eye(width)), np.float64)
        else:
            kept.append(points)
    return np.concatenate(kept)
