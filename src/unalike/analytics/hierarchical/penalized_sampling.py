"""Gibbs and Metropolis steps for coefficients and penalty of a device.

Park, Casella, The Bayesian Lasso, 2008, with an additional square term. In turn,

    1/t_j^2  ~  InverseGaussian( l1 sigma / |theta_j|, l1^2 )
    theta    ~  N( A^-1 X'y, sigma^2 A^-1 ),      A = X'X + diag(1/t^2) + l2 I
    (fused lasso: 1/w_j^2 of differences d_j likewise, and D' diag(1/w^2) D in place of l2 I)
    log lam, log sigma^2:   one random-walk Metropolis move each, on the density given theta times the cavity
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import cho_solve, solve_triangular

from .moments import Moments
from .natural_parameters import Natural
from .penalties import Penalty

ACCEPTANCE = 0.4


class _State(NamedTuple):
    theta: jax.Array
    phi: jax.Array
    log_step: jax.Array
    key: jax.Array


def draw_inverse_gaussian(key: jax.Array, mean: jax.Array, shape: jax.Array) -> jax.Array:
    """Michael, Schucany and Haas, 1976: a root of a quadratic equation, or its mirror image."""
    normal, chance = jax.random.split(key)
    y = jax.random.normal(normal, mean.shape, mean.dtype) ** 2
    half = mean * y / (2 * shape)
    # The smaller root, written without subtracting numbers of like size.
    root = mean / (1 + half + jnp.sqrt(half * (half + 2)))
    mirrored = jax.random.uniform(chance, mean.shape, mean.dtype) > mean / (mean + root)
    return jnp.where(mirrored, mean**2 / root, root)


def draw_coefficients(
    key: jax.Array, moments: Moments, penalty: Penalty, theta: jax.Array, phi: jax.Array
) -> jax.Array:
    """A Gibbs step of the coefficients, by way of the scales of the lasso."""
    lam, variance = jnp.exp(phi)
    first, second = jax.random.split(key)
    shrinkage = draw_shrinkage(first, penalty, theta / jnp.sqrt(variance), lam)
    factor = jnp.linalg.cholesky(moments.gram + shrinkage)
    center = cho_solve((factor, True), moments.cross)
    white = jax.random.normal(second, theta.shape, theta.dtype)
    return center + jnp.sqrt(variance) * solve_triangular(factor.T, white, lower=False)


def draw_shrinkage(key: jax.Array, penalty: Penalty, u: jax.Array, lam: jax.Array) -> jax.Array:
    """The precision matrix of the prior given drawn scales, for coefficients over sigma."""
    l1, l2 = penalty.rates(lam)

    def precisions(key: jax.Array, values: jax.Array, rate: jax.Array) -> jax.Array:
        mean = rate / jnp.maximum(jnp.abs(values), 1e-10)
        return jnp.clip(draw_inverse_gaussian(key, mean, rate**2), 1e-10, 1e12)

    if not penalty.fused:
        diagonal = l2 * jnp.ones_like(u)
        return jnp.diag(diagonal + precisions(key, u, l1) if penalty.ratio > 0 else diagonal)
    own, between = jax.random.split(key)
    differences = jnp.diff(jnp.eye(len(u), dtype=u.dtype), axis=0)
    joint = differences.T @ (precisions(between, jnp.diff(u), l2)[:, None] * differences)
    return jnp.diag(precisions(own, u, l1)) + joint


def log_density_of_phi(
    phi: jax.Array, moments: Moments, penalty: Penalty, theta: jax.Array, cavity: Natural
) -> jax.Array:
    """Of (log lam, log sigma^2) given the coefficients, up to a constant."""
    lam, variance = jnp.exp(phi)
    residual = moments.square - 2 * theta @ moments.cross + theta @ moments.gram @ theta
    fit = -0.5 * moments.rows * phi[1] - jnp.maximum(residual, 0) / (2 * variance)
    size = penalty.size(theta / jnp.sqrt(variance), lam)
    return fit - theta.size * (0.5 * phi[1] + penalty.log_constant(lam)) - size + cavity.log_density(phi)


def sample_penalized(
    moments: Moments,
    penalty: Penalty,
    cavity: Natural,
    start: jax.Array,
    key: jax.Array,
    draws: int,
    burn_in: int,
) -> tuple[jax.Array, jax.Array]:
    """Draws of (log lam, log sigma^2) and of the coefficients, in this order."""
    lam = jnp.exp(start[0])
    first = jnp.linalg.solve(moments.gram + lam * jnp.eye(len(moments.cross)), moments.cross)

    def move(now: _State, adapts: jax.Array) -> tuple[_State, tuple[jax.Array, jax.Array]]:
        key, *keys = jax.random.split(now.key, 4)
        theta = draw_coefficients(keys[0], moments, penalty, now.theta, now.phi)
        phi, log_step = now.phi, now.log_step
        for j in range(2):
            jump, chance = jax.random.split(keys[j + 1])
            new = phi.at[j].add(jnp.exp(log_step[j]) * jax.random.normal(jump, (), phi.dtype))
            before, after = (log_density_of_phi(p, moments, penalty, theta, cavity) for p in (phi, new))
            accepted = jnp.log(jax.random.uniform(chance, (), phi.dtype)) < after - before
            phi = jnp.where(accepted, new, phi)
            log_step = log_step.at[j].add(adapts * 0.1 * (accepted - ACCEPTANCE))
        return _State(theta, phi, log_step, key), (phi, theta)

    state = _State(first, start, jnp.full(2, jnp.log(0.3)), key)
    state, _ = lax.scan(move, state, jnp.ones(burn_in))
    return lax.scan(move, state, jnp.zeros(draws))[1]
