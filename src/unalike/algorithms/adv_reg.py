"""AdvReg: adversarial regularization against membership inference (Nasr, Shokri and Houmansadr, Machine
Learning with Membership Privacy using Adversarial Regularization, 2018).

attacker:   h <- ascend on   mean of log h over training rows  +  mean of log(1 - h) over reference rows
client:     descend on       mean over training rows of  loss + lam * log h
AdvReg-RT:  descend on       mean over training rows of  loss + lam * log h
                             +  lam * mean over reference rows of  log(1 - h)

h is the probability that a row is one of training. Each client has an attacker, which it keeps; it is a small
network of five numbers of a prediction (the logarithm of the label's probability, the three largest
probabilities, and the entropy), where the paper's sees the whole vector. AdvReg-RT (with a reference term;
Kaplan et al., A Cautionary Tale: On the Role of Reference Data in Empirical Privacy Defenses, 2024) makes the
attacker wrong of both sets: reference rows are to look like training rows, without their labels being learnt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from ..core.pytrees import add_scaled
from ..errors import ConfigError
from ..models import Batch, Task
from ..typing import Memory, Message, Params
from .base import Reply, algorithm_registry
from .fedavg import FedAvg
from .shared.client_data import ClientData
from .shared.optimizer_steps import OptimizerState, OptimizerSteps
from .shared.private_gradient import add_penalty
from .werm import check_weight, set_factors

HIDDEN, CLUES = 16, 5
"""Units of the attacker's hidden layer, and the numbers that it sees of a prediction."""


@algorithm_registry.add("adv-reg")
@dataclass(frozen=True, kw_only=True)
class AdvReg(FedAvg):
    """FedAvg against an attacker who tells training rows from reference rows, with weight `lam` (Nasr et al.,
    2018)."""

    lam: float = 1.0
    attacker_rate: float = 0.1
    reference_fraction: float = 0.5

    name: ClassVar[str] = "adv-reg"
    reference_term: ClassVar[bool] = False
    """Whether the attacker is to be wrong of reference rows, too."""
    takes_state: ClassVar[bool] = False
    grid: ClassVar = {"lam": (0.3, 1.0, 3.0, 10.0)}

    def __post_init__(self) -> None:
        check_weight(1.0, self.reference_fraction)
        if not self.reference_fraction > 0:
            raise ConfigError("an attacker learns from reference rows; reference_fraction must be above 0.")
        for name, value in (("lam", self.lam), ("attacker_rate", self.attacker_rate)):
            if not 0 <= value < float("inf"):
                raise ConfigError(f"{name} must not be negative, but is {value:g}.")

    @property
    def equals_local_training(self) -> bool:
        return False

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        if task.kind() != "logits":
            raise ConfigError(f"{self.name} is for classifications, whose predictions are probabilities.")
        return Memory({"attacker": first_attacker()})

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        descent = OptimizerSteps(self.optimizer, data.round)
        factors = set_factors(data, self.reference_fraction) * data.row_weights()[:, None]

        def step(carry: tuple[OptimizerState, Params], batch: Batch) -> tuple[OptimizerState, Params]:
            point, attacker = carry
            against = jax.grad(attack_loss)(attacker, task, point.params, batch)
            attacker = add_scaled(attacker, -self.attacker_rate, against)
            gradient = jax.grad(self._loss)(point.params, task, attacker, batch)
            return descent.step(point, add_penalty(task, point.params, gradient)), attacker

        start = (descent.start(message), memory["attacker"])
        end, attacker = data.weighted(factors).fold(step, start)
        return Reply(end.params, Memory({**memory, "attacker": attacker}))

    def _loss(self, params: Params, task: Task, attacker: Params, batch: Batch) -> jax.Array:
        """What the client lowers: losses of training rows, and how sure the attacker is of them; with a
        reference term, also how sure it is of reference rows."""
        outputs = task.apply(params, batch.x)
        odds = suspicion(attacker, clues(outputs, batch.y))
        training, reference = batch.weight[:, 0], batch.weight[:, 1]
        rows = training * (task.sample_loss(outputs, batch.y) - self.lam * jax.nn.softplus(-odds))  # log h
        if self.reference_term:
            rows -= reference * self.lam * jax.nn.softplus(odds)  # log(1 - h)
        return jnp.sum(rows) / jnp.maximum(batch.size, 1.0)


@algorithm_registry.add("adv-reg-rt")
@dataclass(frozen=True, kw_only=True)
class AdvRegRT(AdvReg):
    """AdvReg whose attacker is to be wrong of reference rows, too, with the same weight `lam` (Kaplan et al.,
    2024)."""

    name: ClassVar[str] = "adv-reg-rt"
    reference_term: ClassVar[bool] = True


def clues(outputs: jax.Array, y: jax.Array) -> jax.Array:
    """What the attacker sees of each prediction: five numbers."""
    logs = jax.nn.log_softmax(outputs)
    chances = jnp.exp(logs)
    own = jnp.take_along_axis(logs, y.astype(jnp.int32)[:, None], axis=1)
    padded = jnp.pad(chances, ((0, 0), (0, max(0, 3 - chances.shape[1]))))
    largest = -jnp.sort(-padded, axis=1)[:, :3]
    entropy = -jnp.sum(chances * logs, axis=1, keepdims=True)
    return jnp.concatenate([own, largest, entropy], axis=1)


def first_attacker() -> dict[str, jax.Array]:
    """An attacker that knows nothing, the same for all clients: it calls everything a member with probability
    one half."""
    inner = jax.random.normal(jax.random.key(0), (CLUES, HIDDEN)) / jnp.sqrt(CLUES)
    return {"inner": inner, "bias": jnp.zeros(HIDDEN), "outer": jnp.zeros(HIDDEN), "shift": jnp.zeros(())}


def suspicion(attacker: Params, seen: jax.Array) -> jax.Array:
    """The log odds that each prediction is of a training row."""
    hidden = jax.nn.relu(seen @ attacker["inner"] + attacker["bias"])
    return hidden @ attacker["outer"] + attacker["shift"]


def attack_loss(attacker: Params, task: Task, params: Params, batch: Batch) -> jax.Array:
    """The attacker's cross-entropy, in which both sets weigh the same."""
    odds = suspicion(attacker, clues(task.apply(params, batch.x), batch.y))
    training, reference = batch.weight[:, 0], batch.weight[:, 1]
    wrong = training * jax.nn.softplus(-odds) + reference * jax.nn.softplus(odds)
    return jnp.sum(wrong) / jnp.maximum(batch.size, 1.0)
