"""FedAvg whose clients report their losses, for fair methods.

The state holds the last loss that each client has reported, and for those that have not the loss of the best
constant guess; the message holds the model and what follows from the losses, a number per client. Fair
methods say what follows, and what a client does with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp

from ...data.federation import Federation
from ...models import Task
from ...typing import Memory, Message, Predictor, PyTree, State, Upload
from ..base import Aggregate, Algorithm
from ..fedavg import FedAvg
from .client_data import ClientData
from .fair_weights import NOBODY, ClientGroups, client_groups
from .last_losses import traffic_with_numbers, uninformed_loss, update_losses


@dataclass(frozen=True, kw_only=True)
class LossAware(FedAvg):
    """FedAvg whose server keeps every client's last loss under `losses`."""

    groups: ClientGroups = NOBODY
    """Found when training starts."""
    initial_loss: float = 0.0
    """Of clients that have not reported; found when training starts."""

    of_single_clients: ClassVar[tuple[str, ...]] = ("multipliers", "weights")
    """Parts of a message that have a number for each client, of which it should see its own alone."""
    takes_state: ClassVar[bool] = False

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        return replace(self, groups=client_groups(federation), initial_loss=uninformed_loss(task, federation))

    def init(self, task: Task, key: jax.Array) -> State:
        losses = jnp.full(len(self.groups.group), self.initial_loss)
        return State({**super().init(task, key), "losses": losses})

    def traffic(self, message: Message, upload: Upload) -> tuple[int, int]:
        return traffic_with_numbers(message["params"], 1, 1)

    def own_message(self, message: Message, client: int | None) -> Message:
        return _only_own(message, self.of_single_clients, -1 if client is None else client)

    def own_upload(self, upload: Upload, client: int) -> Upload:
        return _only_own(upload, ("losses", "seen"), client)

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        assert mixed.start is not None
        stepped = self.server_step(state, mixed.total["params"], mixed.start["params"], mixed.round)
        return State({**stepped, "losses": update_losses(state["losses"], mixed.total)})

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return message["params"]


def _only_own(tree: PyTree, names: tuple[str, ...], client: int) -> PyTree:
    """The same with zeros for all other clients, wherever there is a number for each."""
    own = {
        name: jnp.where(jnp.arange(len(tree[name])) == client, tree[name], 0.0)
        for name in names
        if name in tree
    }
    return {**tree, **own}
