"""The executor of a node: it never runs code that it received.

Flower's SuperNode, started with `--isolation process`, waits for an executor to take its tasks. Flower's own
executor would install the app that came with the run and start a process for every message. Ours takes the
task in this process and calls the app object that this process was started with; the bundle of the run is
never looked at.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable

from flwr.app import Context, Error, Message
from flwr.common.constant import ErrorCode, SubStatus
from flwr.common.serde import context_from_proto, message_from_proto
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest, ObjectTree
from flwr.proto.node_pb2 import Node
from flwr.proto.runtime_pb2 import AcquireTaskRequest, PullAppMessagesRequest, PullTaskInputRequest
from flwr.supercore.constant import TaskType
from flwr.supercore.inflatable.inflatable_protobuf_utils import make_pull_object_fn_protobuf
from flwr.supernode.runtime.run_clientapp import push_message, push_task_output

from ...errors import RunError, UnalikeError
from ..transport.receive import IncomingMessage
from ..transport.wire import Endpoint, heartbeat

App = Callable[[Message, Context], Message]
_PAUSE = 0.05


class Executor:
    """Takes one task after the other from a SuperNode on this machine, and answers it."""

    def __init__(
        self, endpoint: Endpoint, app: App, log: Callable[[str], None], limit: int, stop: threading.Event
    ) -> None:
        self._client, self._pass = endpoint.runtime("flwr-clientapp")
        self._app, self._log, self._limit, self._stop = app, log, limit, stop

    def close(self) -> None:
        """End the connection."""
        self._client.close()

    def work(self) -> bool:
        """Do the oldest waiting task, if there is one; returns whether there was one."""
        request = AcquireTaskRequest(supported_task_types=[TaskType.CLIENT_APP])
        self._pass.token = self._client.AcquireTask(request).token or None
        if self._pass.token is None:
            return False
        heart = heartbeat(self._client)
        heart.start()
        try:
            self._do()
        finally:
            heart.stop()
            self._pass.token = None
        return True

    def _do(self) -> None:
        began = time.monotonic()
        context = context_from_proto(self._client.PullTaskInput(PullTaskInputRequest()).context)
        header, tree = self._announced()
        reply, problem = self._answer(header, tree, context)
        push_message(self._client, reply, context)
        status = SubStatus.FAILED if problem else SubStatus.COMPLETED
        push_task_output(self._client, context, status, problem)
        number, took = header.metadata.message_id[:8], time.monotonic() - began
        if problem:
            self._log(f"message {number} answered with an error after {took:.2f} s: {problem}")

    def _announced(self) -> tuple[Message, ObjectTree]:
        """The header of the task's message, and its parts; a task may be announced a moment before them."""
        answer = self._client.PullMessages(PullAppMessagesRequest())
        while not answer.messages_list:
            self._wait()
            answer = self._client.PullMessages(PullAppMessagesRequest())
        return message_from_proto(answer.messages_list[0]), answer.message_object_trees[0]

    def _wait(self) -> None:
        if self._stop.wait(_PAUSE):
            raise RunError("the node stops.")

    def _answer(self, header: Message, tree: ObjectTree, context: Context) -> tuple[Message, str]:
        try:
            reply = self._app(self._receive(tree, context), context)
            if not isinstance(reply, Message) or reply.metadata.reply_to_message_id != tree.object_id:
                raise RunError("the app did not return a reply to the message it was given.")
            return reply, ""
        except Exception as error:  # the app's mistake is no reason for the node to end
            problem = _explain(error)
            if not isinstance(error, UnalikeError):
                self._log(f"the app raised {''.join(traceback.format_exception(error)).strip()}")
            return Message(Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, problem), reply_to=header), problem

    def _receive(self, tree: ObjectTree, context: Context) -> Message:
        """The whole message; the SuperNode may still be fetching its parts from the link."""
        node, arriving = Node(node_id=context.node_id), IncomingMessage(tree, self._limit)
        fetch = make_pull_object_fn_protobuf(self._client.PullObject, node, context.run_id)
        while (message := arriving.advance(fetch)) is None:
            self._wait()
        self._client.ConfirmMessageReceived(
            ConfirmMessageReceivedRequest(node=node, run_id=context.run_id, message_object_id=tree.object_id)
        )
        return message


def _explain(error: Exception) -> str:
    """What the server is told. An exception's own words may quote the node's data, so they stay here."""
    if isinstance(error, UnalikeError):
        return str(error)
    return f"the node's app raised {type(error).__name__}; the node's log says more."
