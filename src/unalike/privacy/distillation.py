"""Distillation for membership privacy: the published model never saw training rows.

    teacher:   trained on the training rows
    student:   trained on reference rows alone, towards the teacher's probabilities at temperature T

Shejwalkar and Houmansadr, "Membership Privacy for Machine Learning Models Through Knowledge Transfer", 2021.
The student knows of training rows only what the teacher says of reference rows, so it is the reference rows
that it may leak.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..data import Federation
from ..errors import ConfigError
from ..models import Task
from ..typing import Params


class Distillation(NamedTuple):
    """What a student is trained on: reference rows with soft labels, and the task of following them."""

    federation: Federation
    task: Task


def distil(reference: Federation, task: Task, teacher: Params, temperature: float = 1.0) -> Distillation:
    """Clients whose training rows are labeled by the teacher's probabilities, for any method to train on:
    `train(*distil(reference, task, run.message), FedAvg(), rounds=50)`. Test rows keep their labels, as
    probabilities of 0 and 1."""
    classes = reference.classes
    if not classes:
        raise ConfigError("distillation follows probabilities of classes; it is for classifications.")
    if not 0 < temperature < float("inf"):
        raise ConfigError(f"the temperature must be above 0, but is {temperature:g}.")
    soft = np.asarray(jax.nn.softmax(task.apply(teacher, jnp.asarray(reference.train.x)) / temperature))
    certain = np.eye(classes, dtype=np.float32)
    labeled = replace(
        reference,
        train=replace(reference.train, y=soft.astype(np.float32)),
        validation=replace(reference.validation, y=certain[reference.validation.y]),
        test=replace(reference.test, y=certain[reference.test.y]),
        classes=None,
    )
    return Distillation(labeled, student_task(task, temperature))


def student_task(task: Task, temperature: float = 1.0) -> Task:
    """The same model, with the cross-entropy to soft labels; accuracy is that of the largest entries."""

    def loss(outputs: jax.Array, y: jax.Array) -> jax.Array:
        # A temperature divides slopes by its square; a student is to learn as fast at any.
        return -(temperature**2) * jnp.sum(y * jax.nn.log_softmax(outputs / temperature), axis=-1)

    def accuracy(outputs: jax.Array, y: jax.Array) -> jax.Array:
        return (outputs.argmax(-1) == y.argmax(-1)).astype(jnp.float32)

    return Task(task.model, loss, {"accuracy": accuracy}, task.l2, "logits")  # type: ignore[dict-item]
