"""Secure sums at the server: analyses of sums over nodes.

Nodes are asked for a key each; from then on every request names the whole group, and answers are masked.
Every node of the group must answer each request, or the analysis ends: masks of a node that is missing do
not cancel.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...aggregation.tally import Tally
from ...algorithms import Messages
from ...analytics.statistics.central_sums import SUMMABLE, from_sums
from ...analytics.statistics.questions import Answer, Question
from ...core.pytrees import size
from ...engine import Memories
from ...engine.distributed import Visited
from ...errors import ConfigError, RunError
from ...privacy.masked_sums import FEWEST, WORDS, MaskError, add_masked
from ...timing import Step
from ...typing import Array, Document, Float64s, Upload
from ..analysis import RemoteNodes
from ..engine import ROOM, ClientReply, FlowerEngine, UnreadableUpload
from ..transport.messages import MessageError, WireMessage, vector_to_tree
from .node import PEERS

EVERYONE = "all nodes"
"""Under which name answers about all nodes' rows are given."""


@dataclass
class SecureNodes(RemoteNodes):
    """Nodes that answer with masks: the server learns sums over all of them."""

    def open(self) -> None:
        """Ask every node for its key; all must take part."""
        if len(self.names) < FEWEST:
            raise ConfigError(f"secure sums need {FEWEST} nodes or more, and there are {len(self.names)}.")
        found = self.request("sum-key", {})
        keys = {name: str(answer.numbers.get("key")) for name, answer in found.items()}
        self.check_everyone(keys)
        self.group = json.dumps([keys[name] for name in self.names])

    def check_everyone(self, answered: Mapping[str, object]) -> None:
        """Raise where a node has not answered, with its reason."""
        away = [name for name in self.names if name not in answered]
        if away:
            reasons = "; ".join(
                f"{name}: {self.refusals.get(name, 'no answer').rstrip('.')}" for name in away
            )
            raise RunError(f"secure sums need every node to answer, and some did not ({reasons}).")

    def ask(self, question: Question) -> dict[str, Answer]:
        """What all nodes answer together, as if they were one; kinds and names of columns are in the open."""
        if question.kind == "columns":
            return super().ask(question)
        if question.kind not in SUMMABLE:
            return {}
        names = list(question.words["columns"])
        width = len(names)
        first = from_sums(question, self._total(question), width)
        means = first.arrays["moments"][:, 1] if question.kind == "moments" else first.arrays["means"]
        centered = replace(question, arrays={"centers": np.ascontiguousarray(means)})
        return {EVERYONE: from_sums(centered, self._total(centered), width)}

    def _total(self, question: Question) -> Float64s:
        words = {"about": question.kind, "words": json.dumps(dict(question.words)), PEERS: self.group}
        found = self.request("question", words, {k: np.asarray(v) for k, v in question.arrays.items()})
        self.check_everyone(found)
        return add_masked([answer.arrays.get("masked", np.zeros(0)) for answer in found.values()])


class SecureSumEngine(FlowerEngine):
    """Nodes of an analysis whose uploads are seen only as a sum."""

    group: str = ""
    """The public keys of all nodes, as JSON."""

    def hide_uploads(self, group: str) -> SecureSumEngine:
        """Ask for masked uploads of this group of nodes from now on."""
        self.group = group
        self.mailbox.limit = 8 * WORDS * size(self._expected) + ROOM
        return self

    def visit(self, step: Step, messages: Messages, memories: Memories, keep: bool) -> Visited:
        """The sum of the uploads of all nodes."""
        missing = sorted(set(range(len(self.mailbox.names))) - set(step.clients.tolist()))
        if missing:
            names = ", ".join(self.mailbox.names[client] for client in missing)
            raise RunError(f"secure sums need every node to answer, and {names} did not; run it again.")
        parts = [self._read_masked(int(client)) for client in step.clients]
        try:
            total = add_masked(parts)
        except MaskError as error:
            raise RunError(f"the sum of the nodes' answers cannot be read: {error}") from None
        share = self.setting.federation.importance[step.clients].astype(np.float32)
        everyone = np.ones(len(step.clients), np.float32)
        self._memories.last[step.clients] = step.versions if step.jobs is None else step.jobs
        tally = Tally.of_sum(vector_to_tree(self._expected, total), everyone, share, everyone)
        return Visited(tally, None, {"accepted": everyone})

    def _read_masked(self, client: int) -> Array:
        upload = self._uploads.pop(client).upload
        if isinstance(upload, UnreadableUpload):
            raise RunError(f"node {self.mailbox.names[client]} did not answer with masks: {upload.reason}")
        return np.asarray(upload)

    def _opened(self, client: int, message: WireMessage) -> ClientReply:
        if message.kind != "masked":
            raise MessageError(f"a job was answered with a message of kind {message.kind!r}.")
        masked: Array = message.arrays.get("masked", np.zeros(0))
        if masked.shape != (size(self._expected), WORDS) or masked.dtype != np.uint64:
            raise MessageError("the masked upload has an unexpected shape.")
        return ClientReply(Upload(masked))

    def _about(self, client: int) -> Document:
        return {**super()._about(client), PEERS: self.group}
