"""How does the server train clients whose uploads it never sees?

In a synchronous round nothing is sent before the round's clients and weights are known; then Flower's SecAgg+
gives the weighted mean of the uploads of all who stay to the end. Who drops out on the way keeps its old
memory, as anybody whose upload was rejected. Rounds in which too few stay change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flwr.app import Array, RecordDict

from ...algorithms import Algorithm
from ...core.pytrees import Tree, size
from ...core.spec import Spec
from ...engine import Memories, Messages
from ...engine.distributed import Visited
from ...engine.local.program import Sums
from ...errors import ConfigError
from ...participation import Participation
from ...privacy.mechanism import check_private
from ...timing import Step
from ...typing import ClientIds, Float64s
from ..client.app import prefixed
from ..client_config import PROTOCOL
from ..engine import ROOM, FlowerEngine, RemoteMemories
from ..transport.messages import WireMessage, arrays_to_tree, pack, tree_to_arrays
from .grid import CheckedGrid
from .protocol import FEWEST, SecureMean, reach, secure_mean, whole_weights


def check_secure(
    name: str, algorithm: Algorithm, participation: Participation, timing: str, clients: int
) -> None:
    """Raise where secure aggregation is not possible."""
    check_private("secure aggregation", name, algorithm, participation)
    if Spec.parse(timing).name != "synchronous":
        raise ConfigError(
            f"secure aggregation needs everyone's result at once, but with timing {timing!r} results come "
            "one by one; choose synchronous."
        )
    each = min(getattr(participation, "per_round", clients), clients)
    if each < FEWEST:
        raise ConfigError(
            f"secure aggregation hides a client among others, so a round needs at least {FEWEST}, not {each}."
        )


class SecureEngine(FlowerEngine):
    """Real clients whose uploads are seen only as a sum; the mailbox's post must have Flower's `grid`."""

    _landing: list[tuple[int, bool]]

    def send_jobs(self, clients: ClientIds, version: int, message: Tree) -> list[int]:
        """Nothing yet, for the weights are not known; returns who is away."""
        there = self.mailbox.post.nodes()
        away = [int(c) for c in clients if self.mailbox.names[c] not in there]
        for client in away:
            self.mailbox.note("client away", client, errand="train")
        self._landing = [(int(c), True) for c in clients if int(c) not in away]
        return away

    def landed(self) -> list[tuple[int, bool]]:
        """Everyone who is there will work."""
        landed, self._landing = self._landing, []
        return landed

    def abandon(self, clients: ClientIds) -> None:
        """Nobody is waited for outside of a round."""

    def visit(self, step: Step, told: Messages, memories: Memories, keep: bool) -> Visited:
        """Let the step's clients work, and learn their weighted sum only."""
        assert told.own is keep is False, "secure aggregation is for synchronous rounds and sums."
        message = jax.tree.map(np.asarray, told.message)
        found, there = self._mean(step, message)
        accepted = np.array([found is not None and there.get(int(c)) in found.nodes for c in step.clients])
        assert isinstance(memories, RemoteMemories)
        jobs = step.versions if step.jobs is None else step.jobs
        memories.last[step.clients[accepted]] = jobs[accepted]
        weights = step.weights.astype(np.float32)
        given = weights * accepted
        share = self.setting.federation.importance[step.clients].astype(np.float32) * accepted
        sums = Sums(*(np.float32(part.sum()) for part in (weights, given, accepted, share)))
        vector = np.zeros(1 + size(self._expected)) if found is None else found.vector
        total = _unravelled(self._expected, vector[1:] * float(step.weights[accepted].sum()))
        return Visited(total, {}, {}, sums, {}, given, {"accepted": accepted.astype(np.float32)})

    def _mean(self, step: Step, message: Tree) -> tuple[SecureMean | None, dict[int, int]]:
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
            lambda node, reason: self.mailbox.note("dropped out", clients[node], reason=reason),
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
        self, step: Step, message: Tree, there: Mapping[int, int], weights: Mapping[int, int]
    ) -> dict[int, RecordDict]:
        """For each node, the request that an engine without secrets would send, and the weight."""
        numbers: Mapping[int, dict[str, Any]] = self._jobs(np.array([*there]), step.number)
        arrays, shared = prefixed("message", message), dict[int, Array]()
        clip = {} if self.privacy is None else {"clip": float(self.privacy.clip)}
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

    def _failed(self, reason: str) -> None:
        self.happened.append({"kind": "no secure sum", "reason": reason})


def _unravelled(template: Tree, vector: Float64s) -> Tree:
    """A vector of values in the order of names, as the template's tree in the type of sums."""
    zeros = jax.tree.map(
        lambda leaf: np.zeros(leaf.shape, jnp.promote_types(leaf.dtype, jnp.float32)), template
    )
    arrays, begin = {}, 0
    for name, leaf in sorted(tree_to_arrays(zeros).items()):
        arrays[name] = vector[begin : begin + leaf.size].reshape(leaf.shape).astype(leaf.dtype)
        begin += leaf.size
    return arrays_to_tree(zeros, arrays)
