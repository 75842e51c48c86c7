"""AdvReg: adversarial regularization against membership inference (Nasr, Shokri and Houmansadr, Machine
Learning with Membership Privacy using Adversarial Regularization, 2018).

attacker:   h <- ascend on   mean of log h over training rows  +  mean of log(1 - h) over reference rows
client:     descend on       mean over training rows of  loss + lam * log h
AdvReg-RT:  descend on       mean over training rows of  loss + lam * log h
                             +  lam * mean over reference rows of  log(1 - h)

h is the probability that a row is one of training. Each client has an attacker, which it keeps. AdvReg-RT
(with a reference term; Kaplan et al., A Cautionary Tale: On the Role of Reference Data in Empirical Privacy
Defenses, 2024) makes the attacker wrong of both sets: reference rows are to look like training rows, without
their labels being learnt.

`penalty="square"` has h^2 for log h, (1 - h)^2 for log(1 - h), and an attacker that learns by squared errors.
As published the attacker sees the whole vector of probabilities and the label (`attacker="vector"`), and
takes several steps for one of the client (`attacker_steps`, each on the next mini-batch); as a rule it sees
five numbers of a prediction (`shared/membership_attacker.py`), and takes one step, which is cheaper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import lax

from ..core.pytrees import add_scaled
from ..errors import ConfigError, unknown
from ..models import Batch, Task
from ..typing import Memory, Message, Params
from .base import Reply, algorithm_registry
from .fedavg import FedAvg
from .shared.client_data import ClientData
from .shared.membership_attacker import (
    PENALTIES,
    VIEWS,
    attack_loss,
    certainty,
    clues,
    first_attacker,
    suspicion,
)
from .shared.optimizer_steps import OptimizerState, OptimizerSteps
from .shared.private_gradient import add_penalty
from .werm import check_classification, check_reference_rows, set_factors


@algorithm_registry.add("adv-reg")
@dataclass(frozen=True, kw_only=True)
class AdvReg(FedAvg):
    """FedAvg against an attacker who tells training rows from reference rows, with weight `lam` (Nasr et al.,
    2018)."""

    lam: float = 1.0
    attacker_rate: float = 0.1
    reference_fraction: float = 0.5
    attacker: str = "summary"
    """What the attacker sees: "summary", or "vector" as published."""
    attacker_steps: int = 1
    """Steps of the attacker before each of the client."""
    penalty: str = "log"
    """"log", or "square"."""

    name: ClassVar[str] = "adv-reg"
    reference_term: ClassVar[bool] = False
    """Whether the attacker is to be wrong of reference rows, too."""
    takes_state: ClassVar[bool] = False
    grid: ClassVar = {"lam": (0.3, 1.0, 3.0, 10.0)}

    def __post_init__(self) -> None:
        check_reference_rows(self.reference_fraction, "an attacker learns from reference rows")
        for name, value in (("lam", self.lam), ("attacker_rate", self.attacker_rate)):
            if not 0 <= value < float("inf"):
                raise ConfigError(f"{name} must not be negative, but is {value:g}.")
        for name, word, words in (
            ("attacker", self.attacker, VIEWS),
            ("penalty", self.penalty, PENALTIES),
        ):
            if word not in words:
                raise unknown(name, str(word), words)
        if self.attacker_steps < 1:
            raise ConfigError(f"attacker_steps must be at least 1, but is {self.attacker_steps}.")

    @property
    def equals_local_training(self) -> bool:
        return False

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        check_classification(task, self.name)
        return Memory({"attacker": first_attacker(self.attacker)})

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        descent = OptimizerSteps(self.optimizer, data.round)
        rows = data.weighted(set_factors(data, self.reference_fraction) * data.row_weights()[:, None])

        def step(s: jax.Array, carry: tuple[OptimizerState, Params]) -> tuple[OptimizerState, Params]:
            point, attacker = carry
            attacker = self._attack(task, point.params, attacker, rows, s)
            gradient = jax.grad(self._loss)(point.params, task, attacker, rows.batch(s))
            return descent.step(point, add_penalty(task, point.params, gradient)), attacker

        start = (descent.start(message), memory["attacker"])
        end, attacker = lax.fori_loop(0, data.steps, step, start)
        return Reply(end.params, Memory({**memory, "attacker": attacker}))

    def _attack(
        self, task: Task, params: Params, attacker: Params, rows: ClientData, first: jax.Array
    ) -> Params:
        """The attacker after its steps, on this mini-batch and those that follow it in the round."""

        def step(ahead: jax.Array, attacker: Params) -> Params:
            batch = rows.batch((first + ahead) % rows.steps)
            seen = clues(task.apply(params, batch.x), batch.y, self.attacker)
            against = jax.grad(attack_loss)(attacker, seen, batch, self.penalty)
            return add_scaled(attacker, -self.attacker_rate, against)

        return lax.fori_loop(0, self.attacker_steps, step, attacker)

    def _loss(self, params: Params, task: Task, attacker: Params, batch: Batch) -> jax.Array:
        """What the client lowers: losses of training rows, and how certain the attacker is of them; with a
        reference term, also how certain it is of reference rows."""
        outputs = task.apply(params, batch.x)
        odds = suspicion(attacker, clues(outputs, batch.y, self.attacker))
        training, reference = batch.weight[:, 0], batch.weight[:, 1]
        rows = training * (task.sample_loss(outputs, batch.y) + self.lam * certainty(odds, self.penalty))
        if self.reference_term:
            rows += reference * self.lam * certainty(-odds, self.penalty)
        return jnp.sum(rows) / jnp.maximum(batch.size, 1.0)


@algorithm_registry.add("adv-reg-rt")
@dataclass(frozen=True, kw_only=True)
class AdvRegRT(AdvReg):
    """AdvReg whose attacker is to be wrong of reference rows, too, with the same weight `lam` (Kaplan et al.,
    2024)."""

    name: ClassVar[str] = "adv-reg-rt"
    reference_term: ClassVar[bool] = True
