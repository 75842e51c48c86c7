"""Metropolis sampling of a tilted density, and an unbiased estimate of its precision.

The inverse of a sample covariance over-states a precision by (n - 1) / (n - D - 2) for n independent draws
of D numbers, and errors of many devices add up. So the inverse is multiplied by what undoes that, with
n_eff for n. Even then damping must be small, and n_eff well above the square of the number of devices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from .moments import Moments
from .natural_parameters import Natural
from .sites import SiteModel

ACCEPTANCE = 0.3
"""The share of moves to which step lengths adapt."""
AUTOCORRELATION = 4.0
"""Draws that count as one."""


class Chain(NamedTuple):
    """Where a random walk is."""

    point: jax.Array
    value: jax.Array
    log_step: jax.Array
    key: jax.Array


def metropolis(
    log_density: Callable[[jax.Array], jax.Array],
    start: jax.Array,
    shape: jax.Array,
    key: jax.Array,
    draws: int,
    burn_in: int,
) -> jax.Array:
    """So many draws of a random walk with moves like `shape` times a normal vector, after `burn_in` moves in
    which their length adapts."""

    def move(chain: Chain, adapts: jax.Array) -> tuple[Chain, jax.Array]:
        key, first, second = jax.random.split(chain.key, 3)
        jump = shape @ jax.random.normal(first, chain.point.shape, chain.point.dtype)
        point = chain.point + jnp.exp(chain.log_step) * jump
        value = log_density(point)
        accepted = jnp.log(jax.random.uniform(second, dtype=value.dtype)) < value - chain.value
        log_step = chain.log_step + adapts * 0.05 * (accepted - ACCEPTANCE)
        kept = jnp.where(accepted, point, chain.point)
        return Chain(kept, jnp.where(accepted, value, chain.value), log_step, key), kept

    begin = jnp.log(2.4 / jnp.sqrt(jnp.asarray(start.size, start.dtype)))
    chain = Chain(start, log_density(start), begin, key)
    chain, _ = lax.scan(move, chain, jnp.ones(burn_in))
    return lax.scan(move, chain, jnp.zeros(draws))[1]


def natural_of_draws(draws: jax.Array, effective: float) -> Natural:
    """The normal density with the draws' moments, of which so many are as good as independent."""
    width = draws.shape[1]
    centered = draws - draws.mean(0)
    covariance = centered.T @ centered / (len(draws) - 1)
    spread = 1e-12 * (jnp.trace(covariance) / width + 1e-300)
    unbiased = max(effective - width - 2, 1.0) / (effective - 1)
    precision = unbiased * jnp.linalg.inv(covariance + spread * jnp.eye(width))
    return Natural(precision @ draws.mean(0), precision).symmetric()


def sample_site(
    site: SiteModel,
    moments: Moments,
    noise: jax.Array,
    cavity: Natural,
    start: jax.Array,
    key: jax.Array,
    draws: int,
    burn_in: int,
) -> Natural:
    """The device's new factor from draws of the tilted density."""

    def log_density(phi: jax.Array) -> jax.Array:
        return site.expand(moments, noise, phi).value + cavity.log_density(phi)

    shape = jnp.linalg.cholesky(cavity.covariance)
    found = metropolis(log_density, start, shape, key, draws, burn_in)
    return natural_of_draws(found, draws / AUTOCORRELATION).over(cavity)
