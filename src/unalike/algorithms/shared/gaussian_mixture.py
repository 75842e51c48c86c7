"""EM for a Gaussian mixture that clients share: sufficient statistics and closed forms.

Components are N(mu_j, I). A client's rows enter only by sums, so that what the server makes of all clients'
sums is the M-step of the pooled rows, with mixture weights of each client's own (as in FEM-OMD):

    f_j(x)   =  (2 pi)^(-d/2) exp(-|x - mu_j|^2 / 2)
    r[i, j]  =  weight_j f_j(x_i) / sum_l weight_l f_l(x_i)
    S0_j     =  sum_i r[i, j],      S1_j  =  sum_i r[i, j] x_i;      mu_j  <-  sum_c S1_cj / sum_c S0_cj
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ...models import Task
from ...models.gaussian import gaussian, log_density
from ...models.losses import negative_log_density


def gaussian_task(dimension: int, scale: float = 1.0) -> Task:
    """One component: its parameters are a mean, its output the log-density of each row, its loss minus that;
    labels are not looked at. `scale` is the spread of fresh means."""
    return Task(gaussian(scale, input_shape=(dimension,), outputs=1), negative_log_density)


def sufficient_statistics(x: jax.Array, chances: jax.Array) -> tuple[jax.Array, jax.Array]:
    """S0 (components) and S1 (components, dimension) of rows with these (weighted) chances."""
    return jnp.sum(chances, axis=0), chances.T @ x.reshape(len(x), -1)


def draw_mixture_rows(key: jax.Array, means: jax.Array, weights: jax.Array, rows: int) -> jax.Array:
    """So many rows of the mixture of N(mean_j, I)."""
    which, noise = jax.random.split(key)
    chosen = jax.random.categorical(which, jnp.log(jnp.maximum(weights, 1e-12)), shape=(rows,))
    return means[chosen] + jax.random.normal(noise, (rows, means.shape[-1]), means.dtype)


def mixture_log_density(means: jax.Array, weights: jax.Array, x: jax.Array) -> jax.Array:
    """log sum_j weight_j N(x; mean_j, I) of every row."""
    logs = jnp.stack([log_density(mean, x) for mean in means], axis=-1)
    return jax.nn.logsumexp(logs + jnp.log(jnp.maximum(weights, 1e-12)), axis=-1)
