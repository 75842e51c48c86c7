"""Messages of secure aggregation, and validation of the answers.

Flower's workflow sends one message per node and stage and waits for the replies. Here replies are looked for
often instead of every three seconds, within a limit of bytes, and every reply is checked before the workflow
sees it: one that is not what its stage expects counts as no reply, so that a broken or hostile node drops out
of the round instead of ending it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from io import BytesIO
from typing import NamedTuple

import numpy as np
from flwr.app import ConfigRecord, Message
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, Key, Stage
from flwr.compat.common.recorddict_compat import recorddict_to_fitres
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest
from flwr.proto.runtime_pb2 import PullAppMessagesRequest
from flwr.serverapp import Grid
from flwr.supercore.inflatable.inflatable_protobuf_utils import make_pull_object_fn_protobuf
from flwr.supercore.primitives.asymmetric import bytes_to_public_key
from flwr.superlink.grid import HttpGrid

from ..transport.mailbox import PAUSE
from ..transport.messages import MessageError
from ..transport.receive import IncomingMessage
from ..transport.wire import expect_answer

Note = Callable[[int, str], None]
"""Messages of a node, and why it has dropped out."""
Found = tuple[str, Message | str]
"""The message that was replied to, and the reply or the reason why there is none."""


class SentMessage(NamedTuple):
    """A message on its way: to which node, for which stage."""

    node: int
    stage: str


class CheckedGrid:
    """The one method of Flower's grid that its workflow uses; `length` is that of a masked vector."""

    def __init__(self, grid: Grid, length: int, limit: int, note: Note) -> None:
        self._grid, self._length, self._note = grid, length, note
        self._pull = _LimitedPull(grid, limit) if isinstance(grid, HttpGrid) else _plain_pull(grid)

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> list[Message]:
        """The replies that are what their stage expects."""
        waiting, good = self._send(list(messages), timeout), []
        deadline = time.monotonic() + (np.inf if timeout is None else timeout)
        while waiting and time.monotonic() < deadline:
            for number, reply in self._pull([*waiting]):
                sent = waiting.pop(number, None)
                if sent is not None and (message := self._checked(sent, reply)) is not None:
                    good.append(message)
            if waiting:
                time.sleep(PAUSE)
        for sent in waiting.values():
            self._note(sent.node, f"no answer in the stage {sent.stage!r}")
        return good

    def _send(self, messages: list[Message], ttl: float | None) -> dict[str, SentMessage]:
        for message in messages:
            message.metadata.ttl = ttl or message.metadata.ttl  # nobody waits for what comes later
        with expect_answer("take messages of secure aggregation"):
            numbers = list(self._grid.push_messages(messages))
        return {
            number: SentMessage(message.metadata.dst_node_id, _stage(message))
            for number, message in zip(numbers, messages, strict=False)
            if number
        }

    def _checked(self, sent: SentMessage, reply: Message | str) -> Message | None:
        reason = reply if isinstance(reply, str) else fault(reply, sent, self._length)
        if reason is None and isinstance(reply, Message):
            return reply
        self._note(sent.node, f"{reason} (in the stage {sent.stage!r})")
        return None


class _LimitedPull:
    """What has arrived at the link, fetched piece by piece and never more than `limit` bytes of arrays."""

    def __init__(self, grid: HttpGrid, limit: int) -> None:
        self._grid, self._limit = grid, limit
        self._arriving: dict[str, IncomingMessage] = {}

    def __call__(self, numbers: Sequence[str]) -> list[Found]:
        """Replies to these messages, each once."""
        refused = self._look([number for number in numbers if number not in self._arriving])
        found = [self._advance(number) for number in numbers if number in self._arriving]
        return refused + [one for one in found if one is not None]

    def _look(self, numbers: list[str]) -> list[Found]:
        if not numbers:
            return []
        with expect_answer("show replies"):
            seen = self._grid._runtime_client.PullMessages(PullAppMessagesRequest(message_ids=numbers))
        refused: list[Found] = []
        for message, tree in zip(seen.messages_list, seen.message_object_trees, strict=True):
            try:
                self._arriving[message.metadata.reply_to_message_id] = IncomingMessage(tree, self._limit)
            except MessageError as error:
                refused.append((message.metadata.reply_to_message_id, str(error)))
        return refused

    def _advance(self, number: str) -> Found | None:
        arriving, client = self._arriving[number], self._grid._runtime_client
        node, run = self._grid.node, self._grid.run.run_id
        try:
            with expect_answer("hand over a reply"):
                message = arriving.advance(make_pull_object_fn_protobuf(client.PullObject, node, run))
        except MessageError as error:
            del self._arriving[number]
            return number, str(error)
        if message is None:
            return None
        del self._arriving[number]
        with expect_answer("delete a reply"):
            client.ConfirmMessageReceived(
                ConfirmMessageReceivedRequest(node=node, run_id=run, message_object_id=arriving.root)
            )
        return number, message


def _plain_pull(grid: Grid) -> Callable[[Sequence[str]], list[Found]]:
    def pull(numbers: Sequence[str]) -> list[Found]:
        return [(message.metadata.reply_to_message_id, message) for message in grid.pull_messages(numbers)]

    return pull


def fault(reply: Message, sent: SentMessage, length: int) -> str | None:
    """What is wrong with a reply in its stage, or None."""
    if reply.has_error():
        return reply.error.reason or f"error {reply.error.code}"
    if reply.metadata.src_node_id != sent.node:
        return "the reply is from another node"
    said = reply.content.config_records.get(RECORD_KEY_CONFIGS)
    if said is None:
        return "the node does not take part in secure aggregation"
    try:
        fit = _CHECKS[sent.stage](said, reply, length)
    except Exception:  # whatever a hostile reply provokes, it is the reply that is wrong
        fit = False
    return None if fit else "the reply is malformed"


def _keys(said: ConfigRecord, reply: Message, length: int) -> bool:
    keys = [said[Key.PUBLIC_KEY_1], said[Key.PUBLIC_KEY_2]]
    return keys[0] != keys[1] and all(bytes_to_public_key(key) is not None for key in keys)  # type: ignore[arg-type]


def _shares(said: ConfigRecord, reply: Message, length: int) -> bool:
    return _is_node_list(said, Key.DESTINATION_LIST, Key.CIPHERTEXT_LIST)


def _is_masked_reply(said: ConfigRecord, reply: Message, length: int) -> bool:
    recorddict_to_fitres(reply.content, keep_input=True)
    parts = said[Key.MASKED_PARAMETERS]
    fit = isinstance(parts, list) and len(parts) == 2
    return fit and _is_vector(parts[0], 1) and _is_vector(parts[1], length)  # type: ignore[index]


def _secrets(said: ConfigRecord, reply: Message, length: int) -> bool:
    shares = said[Key.SHARE_LIST]
    return _is_node_list(said, Key.NODE_ID_LIST, Key.SHARE_LIST) and all(len(s) > 4 for s in shares)  # type: ignore


_CHECKS = {
    Stage.SETUP: _keys,
    Stage.SHARE_KEYS: _shares,
    Stage.COLLECT_MASKED_VECTORS: _is_masked_reply,
    Stage.UNMASK: _secrets,
}


def _is_node_list(said: ConfigRecord, names: str, values: str) -> bool:
    """A list of nodes and as many bytes."""
    nodes, given = said[names], said[values]
    fit = isinstance(nodes, list) and isinstance(given, list) and len(nodes) == len(given)
    return fit and all(type(n) is int for n in nodes) and all(type(g) is bytes for g in given)  # type: ignore


def _is_vector(data: object, length: int) -> bool:
    """Whether these are the bytes of so many 64-bit integers; they are not read before that is known."""
    assert isinstance(data, bytes)
    stream = BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        return False
    shape, _, kind = np.lib.format.read_array_header_1_0(stream)
    return shape == (length,) and kind == np.int64 and len(data) - stream.tell() == 8 * length


def _stage(message: Message) -> str:
    return str(message.content.config_records[RECORD_KEY_CONFIGS][Key.STAGE])
