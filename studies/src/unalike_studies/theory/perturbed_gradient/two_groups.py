"""Two groups of clients that pull apart: the one-dimensional problem of the lower bounds.

Half of the clients have f(w) = H w^2 / 2 + G w, half h w^2 / 2 - G w, so that w* = 0 and the mean model moves
affinely, w' = a w + b. Buttaci, Does Perturbation Aid Convergence? (MSc thesis, Politecnico di Torino):

    a = 1 - 1/beta + (k_H^E + k_h^E) / (2 beta),    b = (gamma G / 2) sum_{k<E} (k_h^k - k_H^k),
    k_H = 1 - gamma beta H,    k_h = 1 - gamma beta h            (perturbed, u = the round's start)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unalike.theory.perturbed_gradient.contraction import least_contraction
from unalike.theory.perturbed_gradient.problem import Method, Perturbed, Proximal
from unalike.typing import Float64s


@dataclass(frozen=True)
class TwoGroups:
    """Curvatures, pull, and local work."""

    steep: float = 1.0
    """H."""
    flat: float = 0.5
    """h < H."""
    pull: float = 1.0
    """G."""
    local_steps: int = 10
    step: float = 0.1

    @property
    def heterogeneity(self) -> float:
        """Gamma = G^2 (1/H + 1/h) / 4."""
        return self.pull**2 * (1 / self.steep + 1 / self.flat) / 4

    def gap(self, w: Float64s | float) -> Float64s:
        """f(w) - f(w*)."""
        return np.asarray((self.steep + self.flat) * np.asarray(w, np.float64) ** 2 / 4)


def affine_round(method: Method, groups: TwoGroups) -> tuple[float, float]:
    """(a, b) of w' = a w + b; perturbed gradients with the anchor.

    >>> tuple(round(value, 6) for value in affine_round(Perturbed(0.5), TwoGroups()))
    (0.375067, 0.046078)
    """
    powers = np.arange(groups.local_steps)
    gamma, steps = groups.step, groups.local_steps
    if isinstance(method, Proximal):
        steep, flat = (1 - gamma * (method.alpha + h) for h in (groups.steep, groups.flat))
        pulled = method.alpha * gamma * (steep**powers + flat**powers).sum()
        slope = 0.5 * (steep**steps + flat**steps + pulled)
    else:
        steep, flat = (1 - gamma * method.beta * h for h in (groups.steep, groups.flat))
        slope = 1 - 1 / method.beta + (steep**steps + flat**steps) / (2 * method.beta)
    return float(slope), float(gamma * groups.pull / 2 * (flat**powers - steep**powers).sum())


def affine_path(method: Method, groups: TwoGroups, rounds: int, start: float = 1.0) -> Float64s:
    """The mean model before the first round and after each, by its closed form."""
    a, b = affine_round(method, groups)
    limit = b / (1 - a)
    return np.asarray(limit + (start - limit) * a ** np.arange(rounds + 1.0), np.float64)


def simulate(
    method: Method, groups: TwoGroups, rounds: int, start: float = 1.0, graph: bool = False
) -> Float64s:
    """The same step by step. With `graph` there are two clients, and each is sent the other's last model."""
    curvatures = np.array([groups.steep, groups.flat])
    pulls = np.array([groups.pull, -groups.pull])
    path, towards = [start], np.full(2, start)
    for _ in range(rounds):
        w = np.full(2, path[-1])
        towards = towards if graph else w.copy()
        for _ in range(groups.local_steps):
            w = w - groups.step * _direction(method, w, path[-1], towards, curvatures, pulls)
        path.append(float(w.mean()))
        towards = w[::-1]
    return np.array(path)


def lower_bound(
    method: Method,
    convexity: float,
    initial_gap: float,
    groups: TwoGroups,
    rounds: int,
    noise: float = 0.0,
) -> Float64s:
    """What no run on H = mu, h = mu / 2 gets below after 0, 1, ... rounds; `noise` is S sigma^2.

    For at least two local steps of at most 1 / (E (alpha + mu)), or 1 / (E mu) for perturbed gradients.
    """
    t, mu, steps = np.arange(rounds + 1.0), convexity, groups.local_steps
    if isinstance(method, Perturbed):
        nu = groups.step * method.beta * mu
        drift, scale = 1 / mu, 1 / mu
    else:
        weight = method.alpha + mu
        nu = groups.step * weight
        drift, scale = mu**3 / weight**4, mu / weight**2
    reached = (1 - (1 - nu) ** (steps - 1)) * groups.pull
    floor = 3 * drift * reached**2 / (128 * steps**2) + 3 * scale * noise / (64 * steps)
    keep = least_contraction(method, mu)
    return np.minimum(initial_gap * keep ** (2 * t), floor / (t + 1) ** 2)


def _direction(
    method: Method, w: Float64s, start: float, towards: Float64s, curvatures: Float64s, pulls: Float64s
) -> Float64s:
    """The gradient that each of the two clients steps along."""
    if isinstance(method, Proximal):
        return curvatures * w + pulls + method.alpha * (w - start)
    return curvatures * (method.beta * w + (1 - method.beta) * towards) + pulls
