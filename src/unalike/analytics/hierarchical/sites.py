"""Sites of expectation propagation: the likelihood of hyper-parameters, per device.

A :class:`SiteModel` reduces a device's rows to statistics and says how likely they are for hyper-parameters
phi, with the device's own coefficients integrated out. For coefficients theta ~ N(mu, diag(tau)) and
phi = (mu, log tau), with M = X'X / noise, b = X'y / noise and T = diag(tau),

    a = (I + M T)^-1 (b - M mu),      P = (I + M T)^-1 M
    log f  =  -1/2 log|I + M T|  -  1/2 ( y'y/noise - 2 b'mu + mu'M mu  -  (b - M mu)' T a )
    d/d mu = a,     d/d log tau_i = tau_i (a_i^2 - P_ii) / 2

which needs no inverse of M: devices with fewer rows than coefficients are treated as all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp

from ..serialization import shareable
from .moments import Moments

LOG_LIMIT = 8.0
"""Logarithms of variances stay between minus and plus this; beyond, data say nothing more."""


class Expansion(NamedTuple):
    """A function's value, gradient and Hessian at a point."""

    value: jax.Array
    gradient: jax.Array
    hessian: jax.Array


class SiteModel(Protocol):
    """How likely are a device's rows for hyper-parameters?"""

    @property
    def size(self) -> int:
        """How many hyper-parameters there are."""
        ...

    def expand(self, moments: Moments, noise: jax.Array, phi: jax.Array) -> Expansion:
        """The log likelihood of phi with its first two derivatives."""
        ...

    def limit(self, phi: jax.Array) -> jax.Array:
        """The nearest point at which the likelihood is computed."""
        ...

    def coefficients(self, moments: Moments, noise: jax.Array, phi: jax.Array) -> jax.Array:
        """The posterior mean of the device's own coefficients for given hyper-parameters."""
        ...


@shareable
@dataclass(frozen=True)
class NormalSite:
    """Coefficients of all devices are draws of N(mu, diag(tau)); phi = (mu, log tau)."""

    width: int
    common_variance: bool = False
    """Whether all coefficients have the same tau, so that phi = (mu, log tau) has one logarithm."""
    known_log_variance: tuple[float, ...] | None = None
    """The logarithms of tau where they are known; phi is then mu alone."""

    @property
    def size(self) -> int:
        if self.known_log_variance is not None:
            return self.width
        return self.width + (1 if self.common_variance else self.width)

    def split(self, phi: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The mean and the variances of the population."""
        if self.known_log_variance is not None:
            return phi, jnp.exp(jnp.asarray(self.known_log_variance))
        logs = jnp.broadcast_to(phi[self.width :], (self.width,))
        return phi[: self.width], jnp.exp(logs)

    def limit(self, phi: jax.Array) -> jax.Array:
        logs = jnp.clip(phi[self.width :], -LOG_LIMIT, LOG_LIMIT)
        return jnp.concatenate([phi[: self.width], logs])

    def expand(self, moments: Moments, noise: jax.Array, phi: jax.Array) -> Expansion:
        full = self._expand_full(moments, noise, *self.split(phi))
        if self.known_log_variance is not None:
            w = self.width
            return Expansion(full.value, full.gradient[:w], full.hessian[:w, :w])
        if not self.common_variance:
            return full
        # One logarithm moves all of them: the chain rule adds their rows and columns.
        into = jnp.zeros((2 * self.width, self.size)).at[: self.width, : self.width].set(jnp.eye(self.width))
        into = into.at[self.width :, self.width].set(1.0)
        return Expansion(full.value, into.T @ full.gradient, into.T @ full.hessian @ into)

    def coefficients(self, moments: Moments, noise: jax.Array, phi: jax.Array) -> jax.Array:
        mu, tau = self.split(phi)
        precision = moments.gram / noise + jnp.diag(1 / tau)
        return jnp.linalg.solve(precision, moments.cross / noise + mu / tau)

    def _expand_full(self, moments: Moments, noise: jax.Array, mu: jax.Array, tau: jax.Array) -> Expansion:
        information, signal = moments.gram / noise, moments.cross / noise
        mixed = jnp.eye(self.width) + information * tau
        left = signal - information @ mu
        solved = jnp.linalg.solve(mixed, jnp.concatenate([left[:, None], information], axis=1))
        a, p = solved[:, 0], solved[:, 1:]
        p = (p + p.T) / 2
        square = moments.square / noise - 2 * signal @ mu + mu @ information @ mu - left @ (tau * a)
        value = -0.5 * (jnp.linalg.slogdet(mixed)[1] + square)
        slope = 0.5 * tau * (a**2 - jnp.diagonal(p))
        cross = -p * (tau * a)
        curved = 0.5 * tau[:, None] * tau * (p**2 - 2 * a[:, None] * p * a) + jnp.diag(slope)
        return Expansion(value, jnp.concatenate([a, slope]), jnp.block([[-p, cross], [cross.T, curved]]))


@shareable
@dataclass(frozen=True)
class RidgeSite:
    """Coefficients are N(0, noise / lam) with noise and lam common to all devices; phi = (log lam, log
    noise). With eigenvalues g of X'X and c = X'y along its eigenvectors,

    log f  =  -1/2 ( n log noise + sum log(1 + g/lam) + (y'y - sum c^2 / (g + lam)) / noise )
    """

    width: int

    @property
    def size(self) -> int:
        return 2

    def limit(self, phi: jax.Array) -> jax.Array:
        return jnp.clip(phi, -2 * LOG_LIMIT, 2 * LOG_LIMIT)

    def expand(self, moments: Moments, noise: jax.Array, phi: jax.Array) -> Expansion:
        values, vectors = jnp.linalg.eigh(moments.gram)
        values, along = jnp.maximum(values, 0), vectors.T @ moments.cross

        def log_likelihood(phi: jax.Array) -> jax.Array:
            lam, variance = jnp.exp(phi)
            unexplained = moments.square - jnp.sum(along**2 / (values + lam))
            spread = jnp.sum(jnp.log1p(values / lam))
            return -0.5 * (moments.rows * phi[1] + spread + unexplained / variance)

        gradient = jax.grad(log_likelihood)
        return Expansion(log_likelihood(phi), gradient(phi), jax.jacfwd(gradient)(phi))

    def coefficients(self, moments: Moments, noise: jax.Array, phi: jax.Array) -> jax.Array:
        return jnp.linalg.solve(moments.gram + jnp.exp(phi[0]) * jnp.eye(self.width), moments.cross)
