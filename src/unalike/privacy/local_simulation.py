"""Local differential privacy in simulations.

    upload_i  =  message + clipped change_i + Gaussian noise of deviation S z         on every client i

The sensitivity S, the multiplier z and their checks are those of a node that joins with `--local-dp` (see
`local.py`: Dwork and Roth, "The Algorithmic Foundations of Differential Privacy", 2014); here all clients do
it, in compiled code and with noise from the seed. Like such a node, they send no reports. What each has spent
over the rounds is counted as releases of Gaussian noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import jax
import numpy as np

from ..aggregation.base import Aggregator, check_changes
from ..aggregation.needs import AggregatorNeeds
from ..aggregation.norm_bound import clip_change
from ..aggregation.wrapper import AggregatorWrapper
from ..algorithms import ClientData, Reply
from ..algorithms.base import UploadNoise
from ..algorithms.shared.private_gradient import add_noise
from ..algorithms.shared.wrapper import AlgorithmWrapper
from ..errors import ConfigError
from ..models import Task
from ..timing import Step
from ..typing import Array, Event, Float64s, Memory, Message, Report
from .accountant import Ledger, budget_message
from .local import LocalPrivacy

NOISE = 0x10CA1
"""Sets the noise apart from other draws of a client's key."""


@dataclass(frozen=True, kw_only=True)
class LocallyPrivate(AlgorithmWrapper):
    """An algorithm whose clients clip their changes and add noise before they send them."""

    privacy: LocalPrivacy

    @property
    def upload_noise(self) -> UploadNoise:
        return UploadNoise(self.privacy.multiplier, self.privacy.delta)

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        reply = self.method.client(task, message, memory, data, key)
        check_changes("local privacy", message, reply.upload)
        if reply.weight is not None:
            raise ConfigError("local privacy hides what clients weigh, but this method's clients say it.")
        clipped, _ = clip_change(reply.upload, message, self.privacy.clip)
        noisy = add_noise(clipped, self.privacy.deviation, jax.random.fold_in(key, NOISE))
        return Reply(noisy, reply.memory)


@dataclass(frozen=True)
class LocalAccount(AggregatorWrapper):
    """A rule of the server, beside which it is counted what every client has spent by its own noise."""

    rule: Aggregator
    multiplier: float
    """The noise's deviation over the sensitivity."""
    ledger: Ledger = field(compare=False)

    adds: ClassVar[AggregatorNeeds] = AggregatorNeeds(observe=True)

    def refusal(self, step: Step) -> str | None:
        """The budget, where the step would bring a client above it."""
        if len(step.clients) and not self.ledger.affords(step.clients, self._inverses(step)):
            return budget_message(self.ledger)
        return self.rule.refusal(step)

    def observe(self, step: Step, report: Report) -> tuple[dict[str, float], list[Event]]:
        """Charge everyone who sent something; the column is called local_epsilon."""
        columns, events = super().observe(step, report)
        if not len(step.clients):
            return columns, events
        self.ledger.charge(step.clients, self._inverses(step))
        return {**columns, "local_epsilon": self.ledger.epsilon()}, events

    def state(self) -> dict[str, Array]:
        own = {"local_charges": self.ledger.charges.copy(), "local_releases": np.array(self.ledger.releases)}
        return {**super().state(), **own}

    def restore(self, state: Mapping[str, Array]) -> None:
        super().restore(state)
        self.ledger.charges = np.asarray(state["local_charges"], np.float64).copy()
        self.ledger.releases = int(state["local_releases"])

    def _inverses(self, step: Step) -> Float64s:
        return np.full(len(step.clients), 1 / self.multiplier)
