"""DP-SGD: differentially private local SGD that hides every single row (Abadi et al., Deep Learning with
Differential Privacy, 2016).

client:   w <- w - rate * ( sum_{i in batch} clip(g_i, C) + Gaussian noise of deviation z C ) / b

A batch holds every row of the client with probability b / n, drawn anew in every step, as the account of what
is spent assumes (`privacy/row_accounting.py`); `batch_size` is b, and a round has as many steps as local work
of that batch size. Nothing of training is reported, for losses are not noisy. In a simulation noise follows
from the seed; between real clients, who know it, it would protect nobody, so the method is for simulations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
from jax import lax

from ..errors import ConfigError
from ..models import Task
from ..typing import Int64s, Memory, Message
from .base import USUAL_NOISE, PrivateRows, Reply, algorithm_registry
from .fedavg import FedAvg
from .needs import Needs
from .shared.client_data import ClientData
from .shared.optimizer_steps import OptimizerState, OptimizerSteps
from .shared.private_gradient import RowSet, add_penalty, private_gradient


@algorithm_registry.add("dp-sgd")
@dataclass(frozen=True, kw_only=True)
class DPSGD(FedAvg):
    """FedAvg with gradients clipped to `clip_norm` per row and noise of `noise` times that: 1, or what a
    privacy budget asks for, when not given (Abadi et al., 2016)."""

    clip_norm: float = 1.0
    noise: float | None = None

    name: ClassVar[str] = "dp-sgd"
    takes_state: ClassVar[bool] = False
    grid: ClassVar = {"clip_norm": (0.1, 0.3, 1.0, 3.0)}
    needs: ClassVar[Needs] = Needs(shared_seed=True)

    def __post_init__(self) -> None:
        check_noise(self.clip_norm, self.noise)

    @property
    def equals_local_training(self) -> bool:
        return False

    def private_rows(self, sizes: Int64s) -> dict[str, PrivateRows]:
        """For clients of these sizes, the rows that noise hides, by the column that tells what they spent."""
        return {"row_epsilon": PrivateRows(sizes, "noise", self.noise)}

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        descent, rows = OptimizerSteps(self.optimizer, data.round), RowSet(0, data.size)

        def step(s: jax.Array, point: OptimizerState) -> OptimizerState:
            own = jax.random.fold_in(key, s)
            gradient = private_gradient(
                task, point.params, data, rows, self.work.batch_size, self.clip_norm, usual(self.noise), own
            )
            return descent.step(point, add_penalty(task, point.params, gradient))

        end = lax.fori_loop(0, data.steps, step, descent.start(message))
        return Reply(end.params, memory)


def usual(noise: float | None) -> float:
    """The noise that is given, or else the usual one."""
    return USUAL_NOISE if noise is None else noise


def check_noise(clip_norm: float, noise: float | None) -> None:
    """Raise for a bound that is none, or for noise that cannot be."""
    if not 0 < clip_norm < float("inf"):
        raise ConfigError(f"clip_norm must be above 0, but is {clip_norm:g}.")
    if noise is not None and not 0 <= noise < float("inf"):
        raise ConfigError(f"noise must not be negative, but is {noise:g}.")
