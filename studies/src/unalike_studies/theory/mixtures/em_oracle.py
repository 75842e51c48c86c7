"""EM oracle: expectation and maximization on pooled data, with exact arithmetic.

The reference for FedEM (Marfoq, Neglia, Bellet, Kameni, Vidal, Federated Multi-Task Learning under a Mixture
of Distributions, 2021), in double precision and with an exact M-step:

    E:   q_t[i, m]    =  weight_tm exp(-loss(theta_m; i)) / sum_m' ...
    M:   weight_tm    =  mean_i q_t[i, m],      theta_m  =  argmin_theta  sum_t sum_i q_t[i, m] loss(theta; i)

It minimizes f = -(1/n) sum_t sum_i log sum_m weight_tm exp(-loss(theta_m; i)), which never rises, because
g = (1/n) sum q (loss - log weight + log q) lies above f by the mean divergence of q from the posterior.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, xlogy

from unalike.data import Federation
from unalike.typing import Float64s, Int64s

TINY = 1e-300


class Component(Protocol):
    """A model with one vector of parameters."""

    def losses(self, theta: Float64s, x: Float64s, y: Float64s) -> Float64s:
        """One negative log-likelihood per row, up to a constant."""

    def fit(self, theta: Float64s, x: Float64s, y: Float64s, weights: Float64s) -> Float64s:
        """The parameters that minimize the weighted sum of losses, found from a start."""


@dataclass(frozen=True)
class Logistic:
    """Logistic regression for labels 0 and 1; `l2` keeps separable rows from infinite parameters."""

    l2: float = 1e-6

    def losses(self, theta: Float64s, x: Float64s, y: Float64s) -> Float64s:
        """log(1 + exp(score)) - y score."""
        score = x @ theta
        return np.logaddexp(0.0, score) - y * score

    def fit(self, theta: Float64s, x: Float64s, y: Float64s, weights: Float64s) -> Float64s:
        """By Newton steps along trust regions."""

        def value(theta: Float64s) -> tuple[float, Float64s]:
            total = weights @ self.losses(theta, x, y) + 0.5 * self.l2 * theta @ theta
            return float(total), x.T @ (weights * (expit(x @ theta) - y)) + self.l2 * theta

        def curvature(theta: Float64s) -> Float64s:
            chance = expit(x @ theta)
            return (x.T * (weights * chance * (1 - chance))) @ x + self.l2 * np.eye(len(theta))

        tight = {"gtol": 1e-10, "maxiter": 200}
        found = minimize(value, theta, jac=True, hess=curvature, method="trust-exact", options=tight)
        return found.x if found.fun <= value(theta)[0] else theta


@dataclass(frozen=True)
class LeastSquares:
    """Linear regression with unit noise, in closed form."""

    l2: float = 1e-9

    def losses(self, theta: Float64s, x: Float64s, y: Float64s) -> Float64s:
        """Half the squared error."""
        return 0.5 * (x @ theta - y) ** 2

    def fit(self, theta: Float64s, x: Float64s, y: Float64s, weights: Float64s) -> Float64s:
        """The normal equations."""
        moments = (x.T * weights) @ x + self.l2 * np.eye(x.shape[1])
        return np.asarray(np.linalg.solve(moments, x.T @ (weights * y)), np.float64)


@dataclass(frozen=True)
class Custom:
    """A user's own losses and weighted fit."""

    losses: Callable[[Float64s, Float64s, Float64s], Float64s]
    fit: Callable[[Float64s, Float64s, Float64s, Float64s], Float64s]


class Fitted(NamedTuple):
    """Components (components, parameters), mixture weights (clients, components), and f after each step."""

    theta: Float64s
    weights: Float64s
    objective: list[float]


@dataclass(frozen=True)
class MixtureProblem:
    """All rows, with the client of each, and what a component is."""

    x: Float64s
    y: Float64s
    owners: Int64s
    component: Component

    @classmethod
    def of(cls, federation: Federation, component: Component, intercept: bool = True) -> MixtureProblem:
        """The training rows of a federation, with a column of ones for the intercept."""
        x = federation.train.x.reshape(len(federation.train.y), -1).astype(np.float64)
        x = np.hstack([x, np.ones((len(x), 1))]) if intercept else x
        return cls(
            x, federation.train.y.astype(np.float64), federation.train.owners.astype(np.int64), component
        )

    @property
    def sizes(self) -> Int64s:
        """How many rows every client has."""
        return np.bincount(self.owners)

    def losses(self, theta: Float64s) -> Float64s:
        """The loss of every row under every component."""
        return np.stack([self.component.losses(one, self.x, self.y) for one in theta], axis=1)

    def posterior(self, theta: Float64s, weights: Float64s) -> Float64s:
        """The E-step."""
        joint = self._joint(theta, weights)
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    def mean_by_client(self, values: Float64s) -> Float64s:
        """The mean over each client's rows."""
        columns = values.reshape(len(values), -1)
        sums = np.stack([np.bincount(self.owners, column) for column in columns.T], axis=1)
        return (sums / self.sizes[:, None]).reshape(-1, *values.shape[1:])

    def objectives(self, theta: Float64s, weights: Float64s) -> Float64s:
        """f of every client."""
        return self.mean_by_client(-logsumexp(self._joint(theta, weights), axis=1))

    def objective(self, theta: Float64s, weights: Float64s) -> float:
        """f of all clients together."""
        return float(self._importance @ self.objectives(theta, weights))

    def bounds(self, theta: Float64s, weights: Float64s, chances: Float64s) -> Float64s:
        """g of every client, for any chances q."""
        priors = np.log(np.maximum(weights, TINY))[self.owners]
        terms = chances * (self.losses(theta) - priors) + xlogy(chances, chances)
        return self.mean_by_client(terms.sum(axis=1))

    def evidence_gaps(self, theta: Float64s, weights: Float64s, chances: Float64s) -> Float64s:
        """By how much g lies above f, as the mean divergence of q from the posterior."""
        found = self.posterior(theta, weights)
        return self.mean_by_client(divergence(chances, found))

    def best_weights(self, chances: Float64s) -> Float64s:
        """The M-step of the mixture weights."""
        return self.mean_by_client(chances)

    def best_components(self, theta: Float64s, chances: Float64s) -> Float64s:
        """The M-step of the components, exactly."""
        return np.stack(
            [self.component.fit(one, self.x, self.y, q) for one, q in zip(theta, chances.T, strict=True)]
        )

    def step(self, theta: Float64s, weights: Float64s) -> tuple[Float64s, Float64s]:
        """One E-step and both M-steps."""
        chances = self.posterior(theta, weights)
        return self.best_components(theta, chances), self.best_weights(chances)

    def solve(self, theta: Float64s, weights: Float64s | None = None, steps: int = 100) -> Fitted:
        """Some steps from a start; clients begin with equal weights unless others are given."""
        shares = np.full((len(self.sizes), len(theta)), 1 / len(theta)) if weights is None else weights
        values = [self.objective(theta, shares)]
        for _ in range(steps):
            theta, shares = self.step(theta, shares)
            values.append(self.objective(theta, shares))
        return Fitted(theta, shares, values)

    def restarts(self, starts: Sequence[Float64s], steps: int = 100) -> Fitted:
        """The best of several starts, by f."""
        return min((self.solve(start, steps=steps) for start in starts), key=lambda one: one.objective[-1])

    def fit_weights(self, theta: Float64s, start: Float64s, steps: int = 1000) -> Float64s:
        """Mixture weights alone, for components that stay as they are."""
        losses, weights = self.losses(theta), start
        for _ in range(steps):
            joint = np.log(np.maximum(weights, TINY))[self.owners] - losses
            weights = self.best_weights(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)))
        return weights

    def subset(self, clients: Sequence[int]) -> MixtureProblem:
        """Only these clients, renumbered in the order given."""
        rows = np.concatenate([np.flatnonzero(self.owners == c) for c in clients])
        numbers = {c: k for k, c in enumerate(clients)}
        owners = np.array([numbers[c] for c in self.owners[rows]])
        return replace(self, x=self.x[rows], y=self.y[rows], owners=owners)

    @property
    def _importance(self) -> Float64s:
        return self.sizes / self.sizes.sum()

    def _joint(self, theta: Float64s, weights: Float64s) -> Float64s:
        return np.log(np.maximum(weights, TINY))[self.owners] - self.losses(theta)


def divergence(p: Float64s, q: Float64s) -> Float64s:
    """The Kullback-Leibler divergence of p from q, along the last axis.

    >>> float(divergence(np.array([0.5, 0.5]), np.array([0.5, 0.5])))
    0.0
    """
    return (xlogy(p, p) - xlogy(p, np.maximum(q, TINY))).sum(axis=-1)
