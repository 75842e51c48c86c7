"""WERM with DP-SGD: two sets of rows, each protected by its own noise (Kaplan, Xu, Marfoq, Neglia and Santana
de Oliveira, A Cautionary Tale: On the Role of Reference Data in Empirical Privacy Defenses, 2024; Abadi et
al., Deep Learning with Differential Privacy, 2016).

client:   w <- w - rate * ( weight * noisy gradient of training rows
                            + (1 - weight) * noisy gradient of reference rows )

One batch is drawn from each set. A training row moves the sum by weight C / b, a reference row by
(1 - weight) C / b, and the noise of each set has z times that deviation; so each set has an account, and an
epsilon, of its own. A set that weighs nothing is not touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import numpy as np
from jax import lax

from ..core.pytrees import add, scale
from ..data.reference_rows import reference_sizes
from ..models import Task
from ..typing import Int64s, Memory, Message, Params, PyTree
from .base import PrivateRows, Reply, algorithm_registry
from .dp_sgd import DPSGD, check_noise, usual
from .shared.client_data import ClientData
from .shared.optimizer_steps import OptimizerState, OptimizerSteps
from .shared.private_gradient import RowSet, add_penalty, private_gradient
from .werm import check_weight, reference_rows


@algorithm_registry.add("werm-dp-sgd")
@dataclass(frozen=True, kw_only=True)
class WERMDPSGD(DPSGD):
    """WERM with noise for training rows (`noise`) and for reference rows (`reference_noise`), and two
    epsilons."""

    reference_noise: float | None = None
    weight: float = 0.5
    reference_fraction: float = 0.5

    name: ClassVar[str] = "werm-dp-sgd"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_noise(self.clip_norm, self.reference_noise)
        check_weight(self.weight, self.reference_fraction)

    def private_rows(self, sizes: Int64s) -> dict[str, PrivateRows]:
        reference = reference_sizes(sizes, self.reference_fraction)
        none = np.zeros_like(sizes)
        return {
            "row_epsilon": PrivateRows(sizes - reference if self.weight > 0 else none, "noise", self.noise),
            "reference_epsilon": PrivateRows(
                reference if self.weight < 1 else none, "reference_noise", self.reference_noise
            ),
        }

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        descent = OptimizerSteps(self.optimizer, data.round)

        def step(s: jax.Array, point: OptimizerState) -> OptimizerState:
            gradient = self._gradient(task, point.params, data, jax.random.fold_in(key, s))
            return descent.step(point, add_penalty(task, point.params, gradient))

        end = lax.fori_loop(0, data.steps, step, descent.start(message))
        return Reply(end.params, memory)

    def _gradient(self, task: Task, params: Params, data: ClientData, key: jax.Array) -> PyTree:
        """The weighted sum of both sets' noisy gradients."""
        reference = reference_rows(data, self.reference_fraction)
        training = data.size - reference
        sets = (
            (self.weight, usual(self.noise), RowSet(0, training)),
            (1 - self.weight, usual(self.reference_noise), RowSet(training, reference)),
        )
        keys = jax.random.split(key, len(sets))
        found = [
            scale(
                share,
                private_gradient(task, params, data, rows, self.work.batch_size, self.clip_norm, noise, k),
            )
            for (share, noise, rows), k in zip(sets, keys, strict=True)
            if share > 0
        ]
        return found[0] if len(found) == 1 else add(*found)
