"""Fitting an analysis with the same loop, engines and run folders as training."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..algorithms import Algorithm
from ..core.precision import precision
from ..engine import Setting
from ..errors import RunError
from ..models import Model, Task
from ..models.losses import squared_error
from ..training.run import Run
from ..training.train import train
from .design import Design


def linear_task(design: Design) -> Task:
    """A linear predictor of a design's rows, beginning at zero and judged by its squared error."""
    return linear_task_of(len(design.terms))


@lru_cache(maxsize=64)
def linear_task_of(columns: int) -> Task:
    """A linear predictor of rows of so many columns; the same object for the same number, so that a second
    analysis finds its program compiled."""

    def begin(key: jax.Array) -> jax.Array:
        return jnp.zeros(columns)

    def apply(coefficients: jax.Array, x: jax.Array) -> jax.Array:
        return x @ coefficients

    return Task(Model(begin, apply), squared_error, outputs="values")


def fit_rounds(design: Design, task: Task, algorithm: Algorithm, rounds: int, **training: Any) -> Run:
    """Let an algorithm visit the clients for so many rounds, or fewer if it converges.

    `training` is what :func:`unalike.train` takes beside: `engine`, `per_round`, `participation`, `seed`,
    `out`, `resume`, `observer`. An engine may also be a function that makes it for a setting.
    """
    engine = training.pop("engine", "local")
    if callable(engine):
        with precision(algorithm.needs.float64):
            ready = algorithm.prepare(task, design.federation)
            engine = engine(Setting(design.federation, task, ready, training.get("seed", 0)))
    run = train(design.federation, task, algorithm, rounds=rounds, engine=engine, **training)
    check_answered(run)
    return run


def check_answered(run: Run) -> None:
    """Raise where no client has sent anything, with the reason of one of them."""
    answered = run.metrics().get("participants")
    if answered is None or np.nansum(answered) > 0:
        return
    reasons = [str(event["reason"]) for event in run.events() if event.get("reason")]
    raise RunError(f"no client has answered{': ' + reasons[-1].rstrip('.') if reasons else ''}.")
