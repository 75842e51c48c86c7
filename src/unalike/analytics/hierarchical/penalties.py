"""Shrinkage priors of coefficients: penalties and their hyper-priors.

With u = theta / sigma, a penalty is the density

    p(theta | lam, sigma) = exp( -l1 |u| - l2 u^2 / 2 ) / (sigma Z),    l1 = ratio lam,  l2 = (1 - ratio) lam

so that ratio 1 is the lasso (Park, Casella, The Bayesian Lasso, 2008), 0 the ridge N(0, sigma^2 / lam), and
between them the elastic net, whose constant Z has the normal distribution function in it. The fused lasso has
differences of neighboring coefficients in place of squares (Kyung, Gill, Ghosh and Casella, Penalized
Regression, Standard Errors, and Bayesian Lassos, 2010),

    p(theta | lam, sigma) = exp( -l1 sum_j |u_j| - l2 sum_j |u_(j+1) - u_j| ) / (sigma^d Z),   Z = c / lam^d

with a number c that depends on ratio and d alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.stats import norm

from ...core.registry import Registry
from ...errors import ConfigError

penalty_registry: Registry[Penalty] = Registry("penalty")
hyper_prior_registry: Registry[HyperPrior] = Registry("hyper-prior")


@dataclass(frozen=True)
class Penalty:
    """How much of the penalty is on absolute values."""

    ratio: float
    fused: bool = False
    """Whether the rest is on differences of neighbors, not on squares."""

    def rates(self, lam: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The weights of |u| and of u^2 / 2, or of |u - its neighbor|."""
        return self.ratio * lam, (1 - self.ratio) * lam

    def size(self, u: jax.Array, lam: jax.Array) -> jax.Array:
        """Minus the logarithm of the density of coefficients over sigma, but for its constant."""
        l1, l2 = self.rates(lam)
        rest = jnp.abs(jnp.diff(u)).sum() if self.fused else u @ u / 2
        return l1 * jnp.abs(u).sum() + l2 * rest

    def log_constant(self, lam: jax.Array) -> jax.Array:
        """The logarithm of Z for each coefficient; for the fused lasso, but for a constant.

        >>> round(float(Penalty(1.0).log_constant(jnp.asarray(2.0))), 6)  # the integral of e^(-2|u|) is 1
        0.0
        """
        l1, l2 = self.rates(lam)
        if self.fused:
            return -jnp.log(lam)
        if self.ratio == 1:
            return math.log(2) - jnp.log(l1)
        gauss = 0.5 * jnp.log(2 * jnp.pi / l2)
        if self.ratio == 0:
            return gauss
        return math.log(2) + gauss + l1**2 / (2 * l2) + norm.logcdf(-l1 / jnp.sqrt(l2))


@penalty_registry.add("lasso")
def lasso() -> Penalty:
    """Laplace densities: many coefficients near zero, a few large."""
    return Penalty(1.0)


@penalty_registry.add("ridge")
def ridge() -> Penalty:
    """Normal densities: all coefficients are shrunk in proportion."""
    return Penalty(0.0)


@penalty_registry.add("elastic-net")
def elastic_net(ratio: float = 0.5) -> Penalty:
    """Between lasso (`elastic-net:1`) and ridge (`elastic-net:0`)."""
    if not 0 <= ratio <= 1:
        raise ConfigError(f"the ratio of an elastic net must be between 0 and 1, but is {ratio}.")
    return Penalty(float(ratio))


@penalty_registry.add("fused-lasso")
def fused_lasso(ratio: float = 0.5) -> Penalty:
    """Sparse coefficients that are often equal to their neighbors, in the order of the formula; the ratio is
    the part that shrinks them to zero: `fused-lasso:0.2`."""
    if not 0 < ratio < 1:
        raise ConfigError(f"the ratio of a fused lasso must be above 0 and below 1, but is {ratio}.")
    return Penalty(float(ratio), fused=True)


class HyperPrior(NamedTuple):
    """A normal belief of a logarithm."""

    mean: float
    variance: float


@hyper_prior_registry.add("lognormal")
def lognormal(mean: float = 0.0, variance: float = 1.0) -> HyperPrior:
    """The logarithm is normal: `lognormal:0,1`."""
    return HyperPrior(mean, variance)


@hyper_prior_registry.add("half-cauchy")
def half_cauchy(scale: float = 1.0) -> HyperPrior:
    """Heavy-tailed around `scale`; its logarithm has a hyperbolic secant density, which enters by its mean
    and its variance pi^2 / 4."""
    if not scale > 0:
        raise ConfigError(f"the scale of a half-Cauchy distribution must be positive, but is {scale}.")
    return HyperPrior(math.log(scale), math.pi**2 / 4)


@hyper_prior_registry.add("flat")
def flat() -> HyperPrior:
    """Nothing is believed of the logarithm: a standard deviation of ten."""
    return HyperPrior(0.0, 100.0)
