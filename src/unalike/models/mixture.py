"""Ensembles of models, weighted as mixtures.

The best predictor of a mixture of populations mixes what its components *predict*, not their parameters and
not their logits:

    h(x) = sum_m weight_m h_m(x)        with h_m a vector of probabilities, the prediction of a regression, or
                                        a density

Outputs stay what the loss takes, so a mixture of probabilities is handed on as its logarithm.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from .losses import Outputs


def mixture(kind: Outputs, outputs: jax.Array, weights: jax.Array) -> jax.Array:
    """Mix outputs of shape (models, rows, ...) with one weight per model, or one per model and row.

    >>> certain, shares = jnp.array([[[99.0, 0.0]], [[0.0, 99.0]]]), jnp.array([0.25, 0.75])
    >>> jnp.exp(mixture("logits", certain, shares)).tolist()
    [[0.25, 0.75]]
    """
    shares = weights.reshape(*weights.shape, *(1,) * (outputs.ndim - weights.ndim))
    if kind == "logits":
        return mix_logits(jax.nn.log_softmax(outputs), shares)
    if kind == "log-density":
        return mix_logits(outputs, shares)
    if kind == "logit":
        yes, no = (mix_logits(jax.nn.log_sigmoid(sign * outputs), shares) for sign in (1.0, -1.0))
        return yes - no
    return jnp.sum(shares * outputs, axis=0)


def mix_logits(log_probabilities: jax.Array, shares: jax.Array) -> jax.Array:
    """The logarithm of the weighted mean of probabilities, over the leading axis."""
    return jax.nn.logsumexp(log_probabilities, axis=0, b=jnp.broadcast_to(shares, log_probabilities.shape))
