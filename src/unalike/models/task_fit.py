"""Checks that a task fits the clients' rows: shapes, classes, scale of features."""

from __future__ import annotations

import math
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING

import jax
import numpy as np
from numpy.typing import DTypeLike

from ..errors import ConfigError, UnalikeError
from ..typing import Event
from .losses import absolute_error, huber, outputs_for, squared_error

if TYPE_CHECKING:
    from ..data.federation import Federation
    from .task import Task

LARGEST = 50.0
"""Features of mean 0 and variance 1, and images between 0 and 1, do not reach it."""
_ENTRY_BY_ENTRY = (squared_error, absolute_error, huber)
"""Losses that compare every output with a target of its own."""
_LOOKED_AT = 2_000
"""Rows whose features are looked at."""


def check_task_fit(task: Task, federation: Federation) -> None:
    """Raise where a model does not take the clients' rows, or does not have the outputs that their classes or
    targets need."""
    x, y = federation.train.x, federation.train.y
    kind = task.outputs or outputs_for(task.sample_loss)
    if kind is None:
        return
    shape = _output_shape(task, federation.input_shape, x.dtype)
    classes = federation.classes
    if classes is None and kind == "logits" and y.ndim == 1:
        raise ConfigError(
            "the task is a classification, but the targets are values of a regression; use Task.regression, "
            "or give whole numbers or strings as labels."
        )
    if kind == "logits" and classes is not None and y.ndim == 1 and (not shape or shape[-1] < classes):
        outputs = shape[-1] if shape else 1
        raise ConfigError(
            f"the model has {outputs} output{'s' * (outputs != 1)}, but the clients' labels have {classes} "
            f"classes; make a model with outputs={classes} and Task.classification(model, classes={classes})."
        )
    if kind == "logit" and classes is not None and classes > 2:
        raise ConfigError(
            f"a loss of one logit knows two classes, but the clients' labels have {classes}; use "
            "cross-entropy with one output per class."
        )
    if kind == "logit" and classes is None and len(y) and not (y.min() >= 0 and y.max() <= 1):
        raise ConfigError(
            f"a loss of one logit takes targets between 0 and 1, but the clients' go from {y.min():.4g} to "
            f"{y.max():.4g}; use Task.regression."
        )
    outputs, targets = math.prod(shape), math.prod(y.shape[1:])
    if task.sample_loss in _ENTRY_BY_ENTRY and outputs != targets:
        raise ConfigError(
            f"the model has {outputs} output{'s' * (outputs != 1)}, but a row has {targets} "
            f"target{'s' * (targets != 1)}; make a model with outputs={targets}."
        )


@lru_cache(maxsize=64)
def _output_shape(task: Task, input_shape: tuple[int, ...], dtype: DTypeLike) -> tuple[int, ...]:
    """The shape of a row's output."""
    try:
        params = jax.eval_shape(task.init, jax.eval_shape(lambda: jax.random.key(0)))
        outputs = jax.eval_shape(task.apply, params, jax.ShapeDtypeStruct((1, *input_shape), dtype))
    except UnalikeError:
        raise
    except (TypeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConfigError(
            f"the task's model does not take rows of shape {input_shape}: {reason} Make the task for this "
            "federation, such as Task.of(federation, model)."
        ) from error
    return tuple(outputs.shape[1:])


def scale_advice(federation: Federation) -> str | None:
    """What to do about features that are far larger than models expect; None where they are not.

    >>> from unalike.data import Federation
    >>> images = 255 * np.ones((4, 2, 2, 1), np.float32)
    >>> print(scale_advice(Federation.from_clients({"a": (images, [0, 1, 0, 1])}, test_fraction=0)))
    features reach 255, but models expect images between 0 and 1; divide them by 255, or give bytes (uint8).
    """
    x = federation.train.x
    if x.dtype.kind != "f" or not len(x):
        return None
    largest = float(np.abs(x[:: max(1, len(x) // _LOOKED_AT)]).max(initial=0.0))
    if not LARGEST < largest < np.inf:
        return None
    if largest <= 255 and x.ndim > 2:
        return (
            f"features reach {largest:g}, but models expect images between 0 and 1; divide them by 255, or "
            "give bytes (uint8)."
        )
    return (
        f"features reach {largest:.4g}, but models expect numbers of the size of 1; divide them by "
        f"{largest:.2g}, or standardize every column."
    )


def warn_of_scale(federation: Federation) -> list[Event]:
    """Warn of features that are far too large, and return it as an event."""
    words = scale_advice(federation)
    if words is None:
        return []
    warnings.warn(words, stacklevel=3)
    return [{"kind": "features out of scale", "advice": words}]
