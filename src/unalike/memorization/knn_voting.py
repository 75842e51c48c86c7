"""kNN voting, and its interpolation with the global model.

    h_knn(x)[y] = sum_i weight_i 1[y_i = y]             classification: a vote
    h_knn(x)    = sum_i weight_i y_i                    regression: a mean
    h_t(x)      = lambda_t h_knn(x) + (1 - lambda_t) h_global(x)

Predictions that are mixed are probabilities, or targets of a regression; :func:`predictions` makes them from
what a model puts out and :func:`outputs` turns them back into what the loss takes.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from ..errors import ConfigError
from ..models import Task
from ..typing import Array, Float32s

TINY = 1e-12
"""The smallest probability inside a logarithm: a label that nobody votes for costs 27.6, not infinity."""


def check_labels(task: Task, labels: Array) -> None:
    """Whether neighbors can vote with these labels: one class per row, or the targets of a regression."""
    if task.kind() != "values":
        if labels.ndim != 1:
            raise ConfigError(f"memorization needs one label per row, but labels have shape {labels.shape}.")
    elif labels.dtype.kind != "f":
        raise ConfigError(
            "memorization of class labels needs a loss of logits, such as cross-entropy; others predict "
            "values, whose targets are floats."
        )


def predictions(task: Task, outputs: jax.Array) -> jax.Array:
    """Probabilities of classes (or of class 1), or the prediction of a regression."""
    if task.kind() == "logits":
        return jax.nn.softmax(outputs)
    return jax.nn.sigmoid(outputs) if task.kind() == "logit" else outputs


def outputs(task: Task, predictions: jax.Array) -> jax.Array:
    """What the task's loss and metrics take, for given predictions."""
    if task.kind() == "logits":
        return jnp.log(jnp.maximum(predictions, TINY))
    if task.kind() == "logit":
        yes, no = jnp.maximum(predictions, TINY), jnp.maximum(1 - predictions, TINY)
        return jnp.log(yes) - jnp.log(no)
    return predictions


def votes(weights: Float32s, labels: Array, classes: int, class_weights: ArrayLike | None = None) -> Float32s:
    """The share of every class among the neighbors; `class_weights` make up for classes that are rare.

    >>> votes(np.array([[0.7, 0.2, 0.1]]), np.array([[1, 0, 1]]), 3)
    array([[0.2, 0.8, 0. ]], dtype=float32)
    """
    factors = np.ones(classes) if class_weights is None else np.asarray(class_weights, np.float64)
    cells = np.arange(len(labels))[:, None] * classes + labels
    counted = (weights * factors[labels]).ravel()
    table = np.bincount(cells.ravel(), counted, len(labels) * classes).reshape(len(labels), classes)
    total = table.sum(axis=1, keepdims=True)
    return np.divide(table, total, out=np.zeros(table.shape), where=total > 0).astype(np.float32)


def mean_target(weights: Float32s, targets: Array) -> Float32s:
    """The weighted mean of the neighbors' targets."""
    return np.einsum("qk,qk...->q...", weights, targets).astype(np.float32)


def neighbor_prediction(task: Task, weights: Float32s, labels: Array, like: Float32s) -> Float32s:
    """The neighbors' prediction, in the form of the global model's (`like`)."""
    if task.kind() == "logits":
        return votes(weights, labels, like.shape[-1])
    return mean_target(weights, labels).reshape(like.shape)


def interpolate(mixing: float, near: Float32s, common: Float32s) -> Float32s:
    """lambda * neighbors + (1 - lambda) * global model."""
    share = np.float32(mixing)
    return share * near + (1 - share) * common
