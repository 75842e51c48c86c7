"""GIFAIR: clients of groups with large losses take larger steps, so that groups come closer (Yue, Nouiehed,
Al Kontar, GIFAIR-FL: A Framework for Group and Individual Fairness in Federated Learning, 2022).

    minimize  sum_k p_k F_k(w) + lam sum_{i<j} |L_i(w) - L_j(w)|         L_i: mean loss of group i's clients
    server:   c_k <- lam r_k / (p_k |A_k|)     r_k: groups of smaller loss less groups of larger loss
    client:   w_k <- descend from w with every gradient times 1 + c_k;   sends  w_k  and  F_k(w_k)
    server:   w   <- as FedAvg

Without groups, every client is one. The loss of the client's own model stands for that of the common one;
`exact` asks for the latter in a round of its own before each round of training. `importance` says whether p
follows sizes or is uniform: only the smallest group's share can be moved by all of rho, so that with very
unequal sizes `importance = "equal"` is fairer.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp

from ..data.federation import Federation
from ..errors import ConfigError
from ..models import Task
from ..typing import Memory, Message, Params, State, Upload
from .base import Algorithm, Reply, algorithm_registry
from .shared.client_data import ClientData
from .shared.fair_weights import choose_lambda, client_groups, pressure_caveats
from .shared.last_losses import mean_loss, report_loss, uninformed_loss
from .shared.local_sgd import LocalResult, local_sgd
from .shared.loss_aware import LossAware


@algorithm_registry.add("gifair")
@dataclass(frozen=True, kw_only=True)
class Gifair(LossAware):
    """Larger steps where losses are large, so that groups or clients come closer (Yue et al., 2022)."""

    rho: float = 0.5
    """lam as a share of its maximum, at least 0 (FedAvg) and below 1 (where the best group stands still)."""
    lam: float | None = None
    """The weight of differences between groups, instead of rho."""
    individual: bool = False
    """Whether every client is a group of its own, although there are groups."""
    exact: bool = False
    """Whether losses are those of the common model, asked for in every other round."""
    training_loss: bool = False
    """Whether clients report the mean loss that their training saw on its way, which costs nothing, in place
    of the published one, for which they look at all rows once more."""

    name: ClassVar[str] = "gifair"
    grid: ClassVar = {"rho": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)}

    def __post_init__(self) -> None:
        if not 0 <= self.rho < 1:
            raise ConfigError(f"rho, a share of lam's maximum, must be in [0, 1), but is {self.rho}.")
        if self.lam is not None and not self.lam >= 0:
            raise ConfigError(f"lam must not be negative, but is {self.lam}.")
        if self.exact and self.training_loss:
            raise ConfigError("exact asks for losses in rounds without training; leave out training_loss.")

    @property
    def equals_local_training(self) -> bool:
        return super().equals_local_training and not self.exact

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        groups = client_groups(federation, self.individual)
        lam = choose_lambda(groups, self.rho, self.lam)
        for words in pressure_caveats(groups, lam):
            warnings.warn(words, UserWarning, stacklevel=2)
        return replace(self, groups=groups, lam=lam, initial_loss=uninformed_loss(task, federation))

    def broadcast(self, task: Task, state: State) -> Message:
        multipliers = self.groups.multipliers(state["losses"], self.lam or 0.0)
        return Message({"params": state["params"], "multipliers": multipliers})

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        factor = message["multipliers"][data.client]
        asked = data.round % 2 == 0 if self.exact else jnp.asarray(True)
        if self.exact:
            data = replace(data, steps=jnp.where(asked, 0, data.steps), round=data.round // 2)
        trained = self.descend(task, message["params"], data, factor)
        seen = trained.loss / factor if self.lam != 0 else trained.loss
        loss = seen if self.training_loss else mean_loss(task, trained.params, data)
        told = report_loss(loss, data.client, len(message["multipliers"]), asked.astype(jnp.float32))
        report = {"train_loss": jnp.where(data.steps > 0, seen, loss), "multiplier": factor}
        return Reply(Upload({"params": trained.params, **told}), memory, report)

    def descend(self, task: Task, start: Params, data: ClientData, factor: jax.Array) -> LocalResult:
        """Local steps whose gradients are multiplied; with lam = 0 there is nothing to multiply."""
        return local_sgd(task, start, data, self.optimizer, factor=factor if self.lam != 0 else None)
