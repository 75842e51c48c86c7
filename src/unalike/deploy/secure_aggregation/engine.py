"""The secure aggregation engine: the server trains on sums of uploads.

In a synchronous round nothing is sent before the round's clients and weights are known; then Flower's SecAgg+
gives the weighted mean of the uploads of all who stay to the end. Who drops out on the way keeps its old
memory, as anybody whose upload was rejected. Rounds in which too few stay change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from flwr.app import Array, RecordDict

from ...aggregation.tally import Tally
from ...algorithms import Messages, Reply
from ...core.pytrees import size
from ...engine import Memories
from ...engine.distributed import Visited
from ...errors import ConfigError, RunError
from ...participation import Participation
from ...privacy.secure_aggregation import FEWEST, SecureMean, reach, secure_mean, whole_weights
from ...timing import Step
from ...typing import ClientIds, Document, Message, PyTree
from ..client.app import add_prefix
from ..client_config import PROTOCOL
from ..engine import ROOM, FlowerEngine, RemoteMemories
from ..transport.messages import WireMessage, pack, vector_to_tree
from .grid import CheckedGrid


class SecureEngine(FlowerEngine):
    """Real clients whose uploads are seen only as a sum; the mailbox's post must have Flower's `grid`."""

    _ready: list[tuple[int, bool]]

    def send_jobs(self, clients: ClientIds, version: int, message: PyTree) -> list[int]:
        """Nothing yet, for the weights are not known; returns who is away."""
        there = self.mailbox.post.nodes()
        away = [int(c) for c in clients if self.mailbox.names[c] not in there]
        for client in away:
            self.mailbox.note("client away", client, errand="train")
        self.asked = True
        self._ready = [(int(c), True) for c in clients if int(c) not in away]
        return away

    def finished_jobs(self) -> list[tuple[int, bool]]:
        """Everyone who is there will work."""
        finished_jobs, self._ready = self._ready, []
        return finished_jobs

    def abandon(self, clients: ClientIds) -> None:
        """Nobody is waited for outside of a round."""

    def check(self, who: Participation, message: Message, reply: Reply) -> None:
        """Refuse what needs single uploads; the weights of sums are known before anybody answers."""
        super().check(who, message, reply)
        aggregator = self.setting.aggregator
        if aggregator.hidden is not None:
            name = type(aggregator).__name__
            raise ConfigError(
                f"secure aggregation hides single uploads, but {name} cannot: {aggregator.hidden}."
            )
        if reply.weight is not None:
            raise ConfigError(
                "secure aggregation fixes weights before clients answer, but with this algorithm they say "
                "themselves what they weigh."
            )

    def visit(self, step: Step, messages: Messages, memories: Memories, keep: bool) -> Visited:
        """Let the step's clients work, and learn their weighted sum only."""
        if messages.per_client or keep:
            raise RunError("secure aggregation is for synchronous rounds and sums.")
        message = jax.tree.map(np.asarray, messages.tree)
        found, there = self._mean(step, message)
        accepted = np.array([found is not None and there.get(int(c)) in found.nodes for c in step.clients])
        assert isinstance(memories, RemoteMemories)
        jobs = step.versions if step.jobs is None else step.jobs
        memories.last[step.clients[accepted]] = jobs[accepted]
        vector = np.zeros(1 + size(self._expected)) if found is None else found.vector
        total = vector_to_tree(self._expected, vector[1:] * float(step.weights[accepted].sum()))
        weights = step.weights.astype(jnp.result_type(float))
        share = self.setting.federation.importance[step.clients].astype(np.float32)
        tally = Tally.of_sum(total, weights, share, accepted.astype(np.float32))
        return Visited(tally, None, {"accepted": accepted.astype(np.float32)})

    def _mean(self, step: Step, message: PyTree) -> tuple[SecureMean | None, dict[int, int]]:
        """The mean, and the nodes of the clients that were asked; who brings nothing is not asked."""
        nodes, shares = self.mailbox.post.nodes(), whole_weights(step.weights)
        heavy = {int(c): int(s) for c, s in zip(step.clients, shares, strict=True) if s > 0}
        there = {c: nodes[self.mailbox.names[c]] for c in heavy if self.mailbox.names[c] in nodes}
        if len(there) < FEWEST:
            self._failed(f"{len(there)} clients with a positive weight are there; {FEWEST} are needed.")
            return None, there
        length = 1 + size(self._expected)
        clients = {node: client for client, node in there.items()}
        grid = CheckedGrid(
            self.mailbox.post.grid,  # type: ignore[attr-defined]
            length,
            8 * length + ROOM * len(there),
            lambda node, reason: self._dropped_out(clients[node], reason),
        )
        requests = self._secure_requests(step, message, there, heavy)
        return self._tried(grid, requests, reach(jax.tree.leaves(message)), step.number), there

    def _tried(
        self, grid: CheckedGrid, requests: Mapping[int, RecordDict], clipping: float, round: int
    ) -> SecureMean | None:
        """The mean; None with the reason recorded where there is none."""
        try:
            found = secure_mean(grid, requests, clipping, self.patience, round + 1)
        except (ValueError, KeyError, IndexError, TypeError) as error:  # shares of secrets that are none
            self._failed(f"somebody spoiled it ({type(error).__name__}: {error}).")
            return None
        if found is None:
            self._failed("too few clients stayed to the end, or one of them spoiled it.")
        return found

    def _secure_requests(
        self, step: Step, message: PyTree, there: Mapping[int, int], weights: Mapping[int, int]
    ) -> dict[int, RecordDict]:
        """For each node, the request that an engine without secrets would send, and the weight."""
        numbers: Mapping[int, Document] = self._jobs(np.array([*there]), step.number)
        arrays, shared = add_prefix("message", message), dict[int, Array]()
        norm = self.setting.aggregator.clip_at_client
        clip = {} if norm is None else {"clip": float(norm)}
        return {
            node: pack(
                WireMessage(
                    "train",
                    {**numbers[client], **clip, "weight": weights[client], "protocol": PROTOCOL},
                    arrays,
                ),
                shared,
            )
            for client, node in there.items()
        }

    def _dropped_out(self, client: int, reason: str) -> None:
        self.faults[client] = reason
        self.mailbox.note("dropped out", client, reason=reason)

    def _failed(self, reason: str) -> None:
        self.trouble = reason
        self.happened.append({"kind": "no secure sum", "reason": reason})
