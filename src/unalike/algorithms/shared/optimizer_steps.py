"""Optimizer steps for algorithms with their own inner loop.

:func:`local_sgd` is the loop that most methods share. Where a method needs another one, with two models or
several gradients per batch, :class:`OptimizerSteps` takes single steps with the same optimizer and schedule:

    point <- step(point, gradient)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import optax

from ...core.pytrees import scale
from ...typing import Memory, Params, PyTree
from .optimizers import Optimizer


class OptimizerState(NamedTuple):
    """A model on its way down, and what the optimizer remembers of the way."""

    params: Params
    memory: Memory


@dataclass(frozen=True)
class OptimizerSteps:
    """An optimizer in a given round."""

    optimizer: Optimizer
    round: jax.Array | int

    @property
    def rate(self) -> jax.Array:
        """The learning rate in this round."""
        return self.optimizer.learning_rate * self.optimizer.factor(self.round)

    def start(self, params: Params) -> OptimizerState:
        """A model before its first step."""
        return OptimizerState(params, self.optimizer.build().init(params))

    def step(self, point: OptimizerState, gradient: PyTree) -> OptimizerState:
        """One step of the optimizer."""
        updates, memory = self.optimizer.build().update(gradient, point.memory, point.params)
        if self.optimizer.schedule != "constant":
            updates = scale(self.optimizer.factor(self.round), updates)
        return OptimizerState(optax.apply_updates(point.params, updates), memory)


def with_rate(optimizer: Optimizer, learning_rate: float | None) -> Optimizer:
    """The optimizer with another learning rate, where one is given.

    >>> with_rate(Optimizer("sgd", 0.1), None).learning_rate, with_rate(Optimizer(), 0.5).learning_rate
    (0.1, 0.5)
    """
    return optimizer if learning_rate is None else replace(optimizer, learning_rate=learning_rate)
