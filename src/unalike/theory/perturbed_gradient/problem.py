"""Methods and problems of the theorems on FedProx and perturbed gradients.

FedProx of weight alpha pulls every step to the start of the round; the perturbed gradient method of share
beta takes gradients at beta * model + (1 - beta) * mean of similar models (Buttaci, Does Perturbation Aid
Convergence?, MSc thesis, Politecnico di Torino). FedAvg is alpha = 0, and beta = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from ...errors import ConfigError


@dataclass(frozen=True)
class Proximal:
    """FedProx with a pull of weight alpha; FedAvg by default."""

    alpha: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.alpha < math.inf:
            raise ConfigError(f"alpha must be finite and not negative, but is {self.alpha}.")


@dataclass(frozen=True)
class Perturbed:
    """The perturbed gradient method with a share beta of the own model."""

    beta: float = 0.7

    def __post_init__(self) -> None:
        if not 0 < self.beta <= 1:
            raise ConfigError(f"beta must be above 0 and at most 1, but is {self.beta}.")


Method = Proximal | Perturbed


@dataclass(frozen=True, kw_only=True)
class Problem:
    """The constants that the bounds depend on, all in terms of squared norms."""

    smoothness: float
    """L: gradients change at most so much per unit of distance."""
    convexity: float = 0.0
    """mu: every client's loss is at least so curved; 0 where it need not be convex."""
    gradient_variance: float = 0.0
    """sigma^2, of a mini-batch gradient around its client's."""
    squared_gradient: float = 0.0
    """G^2: no squared norm of a mini-batch gradient is larger."""
    heterogeneity: float = 0.0
    """Gamma: the least loss of all minus the mean of clients' least losses."""
    initial_gap: float = 1.0
    """Delta: the first loss minus the least one."""
    squared_weights: float = 1.0
    """S: the sum of squared importances; 1 / clients where these are equal."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 <= value < math.inf:
                raise ConfigError(f"{field.name} must be finite and not negative, but is {value}.")
        if self.smoothness == 0 or self.convexity > self.smoothness:
            raise ConfigError("smoothness must be above 0, and at least as large as convexity.")


def effective_smoothness(method: Method, smoothness: float) -> float:
    """L + alpha for FedProx, L for perturbed gradients.

    >>> effective_smoothness(Proximal(0.5), 1.0), effective_smoothness(Perturbed(0.5), 1.0)
    (1.5, 1.0)
    """
    return smoothness + (method.alpha if isinstance(method, Proximal) else 0.0)
