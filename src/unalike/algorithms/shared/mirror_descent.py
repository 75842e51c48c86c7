"""Entropic online mirror descent of a client's mixture weights.

With the negative entropy R(pi) = sum_j pi_j log pi_j on the simplex, mirror descent is the exponentiated
gradient rule, and starts at the minimizer of R, equal weights:

    pi_j  <-  pi_j exp(-rate g_j) / sum_l pi_l exp(-rate g_l)

For the log-loss of a mixture the gradient is g_j = -mean_i P_j(z_i) / sum_l pi_l P_l(z_i), so that
sum_j pi_j g_j = -1 whatever the rows are. |g_j| may reach 1 / pi_j: hence rates below 1 / m, and a floor, for
a weight of zero would stay zero. With |g_j| <= G, a constant rate and any T losses,

    regret  <=  log m / rate  +  rate G^2 T / 2

(the mirror-descent block of FEM-OMD, online federated learning with mixture models).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from .mixture import TINY


def mixture_gradient(losses: jax.Array, weights: jax.Array, row_weights: jax.Array) -> jax.Array:
    """The gradient of the mean log-loss by the weights, from each row's loss under each component.

    >>> weights = jnp.array([0.25, 0.75])
    >>> round(float(weights @ mixture_gradient(jnp.array([[1.0, 2.0]]), weights, jnp.ones(1))), 4)
    -1.0
    """
    logs = jnp.log(jnp.maximum(weights, TINY))
    ratios = jnp.exp(-losses - jax.nn.logsumexp(logs - losses, axis=-1, keepdims=True))
    total = jnp.sum(row_weights)
    return -(row_weights @ ratios) / jnp.where(total > 0, total, 1.0)


def mirror_step(
    weights: jax.Array, gradient: jax.Array, rate: jax.Array | float, floor: float = 0.0
) -> jax.Array:
    """One step of exponentiated gradient, kept away from zero.

    >>> [round(float(w), 3) for w in mirror_step(jnp.array([0.5, 0.5]), jnp.array([0.0, -1.0]), 1.0)]
    [0.269, 0.731]
    """
    moved = jax.nn.softmax(jnp.log(jnp.maximum(weights, TINY)) - rate * gradient)
    kept = jnp.maximum(moved, floor)
    return kept / jnp.sum(kept)


def mirror_rate(
    components: int, step: jax.Array | int, horizon: int = 0, constant: float | None = None
) -> jax.Array:
    """sqrt(log m) / (m sqrt t) in step t = 1, 2, ..., the same with a known horizon instead of t, or a
    constant.

    >>> round(float(mirror_rate(3, 4)), 4), round(float(mirror_rate(3, 4, horizon=100)), 4)
    (0.1747, 0.0349)
    """
    if constant is not None:
        return jnp.asarray(constant, jnp.float32)
    after = jnp.asarray(horizon if horizon else step, jnp.float32)
    return jnp.sqrt(jnp.log(float(components)) / after) / components
