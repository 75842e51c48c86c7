"""Loss functions, sample by sample.

Every loss returns one number per sample; weights are applied by whoever sums them, because streams,
mixtures and fairness all weigh samples differently. Cross-entropy and the half squared error are negative
log-likelihoods up to a constant, which is what mixtures of models rely on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
import optax

from ..core.registry import Registry

Loss = Callable[[jax.Array, jax.Array], jax.Array]
Outputs = Literal["logits", "logit", "values", "log-density"]
"""What a loss takes a model's outputs for: logits of classes, of which one happens (softmax); logits of yes,
each for itself (sigmoid); values, such as the prediction of a regression; or the log-density of the row."""
loss_registry: Registry[Loss] = Registry("loss")


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


def negative_log_density(outputs: jax.Array, targets: jax.Array) -> jax.Array:
    """Minus the log-density that a model gives a row; targets are not looked at."""
    return -outputs


def _like(predictions: jax.Array, targets: jax.Array) -> jax.Array:
    """A single output may come as a column or as a row, and so may targets."""
    return jnp.reshape(predictions, targets.shape)


def _sum_rows(values: jax.Array) -> jax.Array:
    return values.reshape(values.shape[0], -1).sum(-1)


OUTPUTS: dict[Loss, Outputs] = {
    cross_entropy: "logits",
    optax.softmax_cross_entropy_with_integer_labels: "logits",
    optax.softmax_cross_entropy: "logits",
    logistic: "logit",
    optax.sigmoid_binary_cross_entropy: "logit",
    squared_error: "values",
    absolute_error: "values",
    huber: "values",
    optax.l2_loss: "values",
    optax.squared_error: "values",
    optax.huber_loss: "values",
    optax.log_cosh: "values",
    negative_log_density: "log-density",
}
"""What the losses that everybody knows take outputs for."""


def outputs_for(loss: Loss) -> Outputs | None:
    """What a loss takes outputs for, or None where it is a user's own, which does not say.

    >>> outputs_for(optax.softmax_cross_entropy), outputs_for(lambda outputs, y: outputs - y)
    ('logits', None)
    """
    return next((kind for known, kind in OUTPUTS.items() if known is loss), None)


for _name, _loss in {
    "cross_entropy": cross_entropy,
    "logistic": logistic,
    "squared_error": squared_error,
    "absolute_error": absolute_error,
    "huber": huber,
}.items():
    loss_registry.add(_name)(_loss)
