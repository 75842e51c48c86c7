"""How wrong is a prediction, sample by sample?

Every loss returns one number per sample; weights are applied by whoever sums them, because streams,
mixtures and fairness all weigh samples differently. Cross-entropy and the half squared error are negative
log-likelihoods up to a constant, which is what mixtures of models rely on.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from ..registry import Registry

Loss = Callable[[jax.Array, jax.Array], jax.Array]
losses: Registry[Loss] = Registry("loss")


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Minus the log-probability of the label, for logits of shape (rows, classes)."""
    # Picking by comparison instead of indexing keeps the backward pass free of a scatter.
    chosen = jnp.arange(logits.shape[-1]) == labels[..., None]
    return jax.nn.logsumexp(logits, axis=-1) - jnp.sum(jnp.where(chosen, logits, 0.0), axis=-1)


def logistic(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Binary cross-entropy for one logit per row and labels 0 or 1."""
    score = logits[..., 0] if logits.ndim > labels.ndim else logits
    return jnp.logaddexp(0.0, score) - labels * score


def squared_error(predictions: jax.Array, targets: jax.Array) -> jax.Array:
    """Half the squared distance between prediction and target."""
    return 0.5 * _sum_rows((_like(predictions, targets) - targets) ** 2)


def absolute_error(predictions: jax.Array, targets: jax.Array) -> jax.Array:
    """The L1 distance between prediction and target."""
    return _sum_rows(jnp.abs(_like(predictions, targets) - targets))


def huber(predictions: jax.Array, targets: jax.Array) -> jax.Array:
    """Huber's loss with threshold 1: quadratic near zero, linear far away."""
    gap = jnp.abs(_like(predictions, targets) - targets)
    return _sum_rows(jnp.where(gap <= 1.0, 0.5 * gap**2, gap - 0.5))


def _like(predictions: jax.Array, targets: jax.Array) -> jax.Array:
    """A single output may come as a column or as a row, and so may targets."""
    return jnp.reshape(predictions, targets.shape)


def _sum_rows(values: jax.Array) -> jax.Array:
    return values.reshape(values.shape[0], -1).sum(-1)


for _name, _loss in {
    "cross_entropy": cross_entropy,
    "logistic": logistic,
    "squared_error": squared_error,
    "absolute_error": absolute_error,
    "huber": huber,
}.items():
    losses.add(_name)(_loss)
