"""Flower's grid: how the server sends messages to nodes and receives answers.

A post is a run of Flower's, seen from its ServerApp: this process acquires the run's task as Flower's
executor would, and then sends and collects messages through Flower's own `HttpGrid`. Nothing here waits:
`collect` returns what has arrived, each answer once, and a slow or hostile node cannot hold it up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, Self

import httpx
from flwr.app import Array, Message, Metadata, RecordDict
from flwr.app.message import make_message
from flwr.common.constant import SUPERLINK_NODE_ID, ErrorCode, SubStatus
from flwr.common.serde import run_from_proto
from flwr.proto.control_pb2 import ListRunsRequest
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest
from flwr.proto.node_pb2 import Node
from flwr.proto.runtime_pb2 import (
    AcquireTaskRequest,
    PullAppMessagesRequest,
    PullTaskInputRequest,
    PushTaskOutputRequest,
)
from flwr.serverapp import Grid
from flwr.supercore.constant import TaskType
from flwr.supercore.inflatable.inflatable_protobuf_utils import make_pull_object_fn_protobuf
from flwr.supercore.task_identity import TaskIdentity
from flwr.superlink.grid import HttpGrid

from ...errors import RunError
from .messages import DEFAULT_LIMIT, MessageError, WireMessage, pack, unpack
from .receive import IncomingMessage
from .wire import Endpoint, expect_answer, heartbeat

KIND = "train"  # a message type that Flower's ClientApp accepts
_PATIENCE = 10.0
_NOT_TAKEN = "the link does not know this node."
_REASONS = {
    ErrorCode.MESSAGE_UNAVAILABLE: "there was no answer in time.",
    ErrorCode.REPLY_MESSAGE_UNAVAILABLE: "the answer came too late.",
    ErrorCode.NODE_UNAVAILABLE: "the node is no longer connected.",
}


@dataclass(frozen=True)
class Arrival:
    """An answer: its message, or the reason why there is none, and the seconds since it was asked for."""

    message_id: str
    node_id: int
    wire_message: WireMessage | None
    error: str | None
    seconds: float


class Traffic(NamedTuple):
    """Bytes to all nodes and from all nodes, without the envelopes of HTTP and TLS."""

    to_nodes: int
    from_nodes: int


class MessageGrid:
    """Sends messages to nodes and collects their answers, within one run of Flower's."""

    def __init__(self, endpoint: Endpoint, run: int, names: Callable[[], Mapping[int, str]] | None) -> None:
        self._client, self._pass = endpoint.runtime("flwr-serverapp")
        self._endpoint, self._names, self._run = endpoint, names, run
        self._sent: dict[str, tuple[int, float]] = {}
        self._arriving: dict[str, IncomingMessage] = {}
        self._lost: set[str] = set()
        try:
            self._pass.token = self._acquire()
            self._grid = self._start()
        except BaseException:
            self._client.close()
            raise
        self._heart = heartbeat(self._client)
        self._heart.start()
        self._finished = False

    @property
    def grid(self) -> Grid:
        """Flower's own grid of this run, for Flower's own workflows."""
        return self._grid

    def nodes(self) -> dict[str, int]:
        """The nodes that are connected now, by name. Without authentication they are called node-NUMBER."""
        with expect_answer("list the nodes that are online"):
            online = [node.node_id for node in self._grid.get_nodes()]
        if self._names is None:
            return {f"node-{number}": number for number in sorted(online)}
        names = self._names()
        return dict(sorted((names[number], number) for number in online if number in names))

    def send(self, node_id: int, wire_message: WireMessage, group: str = "", ttl: float = 3600.0) -> str:
        """Send a message to a node; returns the number of the message, by which its answer is collected."""
        return self.send_many([(node_id, wire_message)], group, ttl)[0]

    def send_many(
        self, wire_messages: Iterable[tuple[int, WireMessage]], group: str = "", ttl: float = 3600.0
    ) -> list[str]:
        """Send a message to each node; arrays that several of them hold are handed to the link once."""
        shared: dict[int, Array] = {}
        messages = [
            self._message(node, pack(wire_message, shared), group, ttl)
            for node, wire_message in wire_messages
        ]
        if not messages:
            return []
        with expect_answer("take messages"):
            numbers = list(self._grid.push_messages(messages))
        if len(numbers) < len(messages):
            raise RunError("the link did not take the messages; its log says why.")
        return [self._note(number, message) for number, message in zip(numbers, messages, strict=True)]

    def collect(self, ids: Iterable[str], limit_bytes: int = DEFAULT_LIMIT) -> list[Arrival]:
        """What has arrived of these messages, without waiting; every answer is given once."""
        wanted = [number for number in dict.fromkeys(ids) if number in self._sent]
        refused = [self._arrival(number, None, _NOT_TAKEN) for number in wanted if number in self._lost]
        wanted = [number for number in wanted if number not in self._lost]
        refused += self._look([number for number in wanted if number not in self._arriving], limit_bytes)
        found = [self._advance(number, limit_bytes) for number in wanted if number in self._arriving]
        return refused + [arrival for arrival in found if arrival is not None]

    def traffic(self) -> Traffic:
        """The bytes that this run's messages took so far, as the link counts them."""
        with expect_answer("count bytes"), closing(self._endpoint.control()) as client:
            run = client.ListRuns(ListRunsRequest(run_id=self._run)).run_dict[self._run]
        return Traffic(run.bytes_sent, run.bytes_recv)

    def finish(self, ok: bool = True, details: str = "") -> None:
        """End the run: Flower forgets its messages, and nodes learn that nobody waits for them."""
        if self._finished:
            return
        self._finished = True
        status = SubStatus.COMPLETED if ok else SubStatus.FAILED
        with suppress(httpx.HTTPError):  # the link may be gone, and the run with it
            self._client.PushTaskOutput(PushTaskOutputRequest(sub_status=status, details=details))
        if self._heart.is_running:
            self._heart.stop()
        self._client.close()

    def __enter__(self) -> Self:
        """The post itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish, well or not."""
        self.finish(error is None, "" if error is None else type(error).__name__)

    def _acquire(self) -> str:
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            with expect_answer("hand out the run's task"):
                answer = self._client.AcquireTask(
                    AcquireTaskRequest(supported_task_types=[TaskType.SERVER_APP])
                )
            if answer.token and answer.task.run_id == self._run:
                return answer.token
            time.sleep(0.1)
        raise RunError("the link did not hand out the task of its run.")

    def _start(self) -> HttpGrid:
        with expect_answer("start the run's task"):
            given = self._client.PullTaskInput(PullTaskInputRequest())
        # Flower's messages take their sender from here; its own workflows on `grid` need it.
        TaskIdentity.task_id, TaskIdentity.run_id = given.task_id, given.run.run_id
        TaskIdentity.node_id = SUPERLINK_NODE_ID
        self._task = given.task_id
        grid = HttpGrid(self._endpoint.address, token=self._pass.token or "")
        grid._client = self._client  # ours passes the gate, and its retries do not interrupt the process
        grid.set_run(run_from_proto(given.run))
        return grid

    def _message(self, node_id: int, content: RecordDict, group: str, ttl: float) -> Message:
        metadata = Metadata(
            run_id=self._run,
            message_id="",
            src_node_id=SUPERLINK_NODE_ID,
            dst_node_id=node_id,
            reply_to_message_id="",
            group_id=group,
            created_at=time.time(),
            ttl=ttl,
            message_type=KIND,
            src_task_id=self._task,
        )
        return make_message(metadata=metadata, content=content)

    def _note(self, number: str, message: Message) -> str:
        """Remember a message that was sent; one that the link did not take gets a number of our own."""
        if not number:
            number = f"not taken {len(self._lost) + 1}"
            self._lost.add(number)
        self._sent[number] = message.metadata.dst_node_id, time.monotonic()
        return number

    def _look(self, numbers: Sequence[str], limit: int) -> list[Arrival]:
        """Ask which answers are there; those that are refused at first sight are returned."""
        if not numbers:
            return []
        with expect_answer("show answers"):
            answer = self._client.PullMessages(PullAppMessagesRequest(message_ids=numbers))
        refused = []
        for message, tree in zip(answer.messages_list, answer.message_object_trees, strict=True):
            number = message.metadata.reply_to_message_id
            try:
                self._arriving[number] = IncomingMessage(tree, limit)
            except MessageError as error:
                refused.append(self._arrival(number, None, str(error)))
                self._confirm(tree.object_id)
        return refused

    def _advance(self, number: str, limit: int) -> Arrival | None:
        arriving = self._arriving[number]
        fetch = make_pull_object_fn_protobuf(
            self._client.PullObject, Node(node_id=SUPERLINK_NODE_ID), self._run
        )
        try:
            with expect_answer("hand over an answer"):
                message = arriving.advance(fetch)
            if message is None:
                return None
            wire_message, error = self._parcel(message, limit)
        except MessageError as reason:
            wire_message, error = None, str(reason)
        self._confirm(arriving.root)
        return self._arrival(number, wire_message, error)

    def _parcel(self, message: Message, limit: int) -> tuple[WireMessage | None, str | None]:
        if message.has_error():
            return None, _REASONS.get(message.error.code, message.error.reason or "an unknown error")
        return unpack(message.content, limit), None

    def _arrival(self, number: str, wire_message: WireMessage | None, error: str | None) -> Arrival:
        node, then = self._sent.pop(number)
        self._arriving.pop(number, None)
        return Arrival(number, node, wire_message, error, time.monotonic() - then)

    def _confirm(self, root: str) -> None:
        """Let the link delete the answer from its store."""
        with expect_answer("delete an answer"):
            self._client.ConfirmMessageReceived(
                ConfirmMessageReceivedRequest(
                    node=Node(node_id=SUPERLINK_NODE_ID), run_id=self._run, message_object_id=root
                )
            )
