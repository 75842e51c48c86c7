"""How good is a prediction, in the words people use?

A metric maps outputs and labels to one number per sample; a client's value is the mean over its samples,
and a federation's value the mean over all samples. So averages compose: a mean and its number of samples
are enough.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from .losses import _like, _sum_rows

Metric = Callable[[jax.Array, jax.Array], jax.Array]


def accuracy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """1 where the most likely class is the label."""
    if logits.shape[-1] == 1:
        return ((logits[..., 0] > 0) == (labels > 0)).astype(jnp.float32)
    return (jnp.argmax(logits, -1) == labels).astype(jnp.float32)


def mean_squared_error(predictions: jax.Array, targets: jax.Array) -> jax.Array:
    """The squared distance between prediction and target."""
    return _sum_rows((_like(predictions, targets) - targets) ** 2)


def metrics_for(classes: int | None) -> dict[str, Metric]:
    """The metrics that are reported for a classification (`classes` given) or a regression."""
    return {"accuracy": accuracy} if classes else {"mse": mean_squared_error}
