"""Nodes that joined by `unalike join` and answer `unalike serve`, both typed in this process.

The commands are real; only the network between them is missing: a node hands its app over where it would
start a SuperNode, and the server's link is a list of these apps. Messages pass through Flower's own records.
"""

from contextlib import contextmanager
from typing import NamedTuple

from flwr.app import Context, Error, Message, RecordDict
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from flwr.supercore.task_identity import TaskIdentity

from unalike.cli.commands import join as join_command
from unalike.cli.commands.listen import Listening
from unalike.deploy.client.executor import _explain
from unalike.deploy.transport.messages import pack, unpack


class Arrived(NamedTuple):
    message_id: str
    wire_message: object
    error: str | None = None


class Network:
    """Everyone who joined, by name; a server sees those whom it allows."""

    def __init__(self, monkeypatch):
        self.apps, self.contexts, self.places, self.logs = {}, {}, {}, []
        self.said = []
        """What nodes say to their owners."""
        self.allowed, self._replies, self._mail = None, {}, {}
        self.listening = None
        for name in ("_task_id", "_run_id", "_node_id"):
            monkeypatch.setattr(TaskIdentity, name, 1)
        monkeypatch.setattr("unalike.deploy.serve_node", self.take)
        monkeypatch.setattr(join_command, "_stop_by_signals", lambda stop: None)
        monkeypatch.setattr(join_command, "say", self.said.append)
        monkeypatch.setattr("unalike.deploy.client.bounded_process.can_fork", lambda: False)
        network = self

        @contextmanager
        def opened(listening, log):
            network.listening = listening
            network.allowed = None if listening.allowed is None else [one.name for one in listening.allowed]
            yield network

        monkeypatch.setattr(Listening, "open", opened)

    def take(self, app, server, certificate, key, place, stop, log):
        """What a node does in place of starting a SuperNode."""
        name = place.name if key is None else key.stem
        self.apps[name], self.places[name] = app, (server, certificate, place)
        self.contexts[name] = Context(1, len(self.apps), {}, RecordDict(), {})

    # The server's side --------------------------------------------------------------------------------------

    @contextmanager
    def open(self):
        yield self

    @property
    def grid(self):
        return self

    def refusals(self):
        return []

    def nodes(self):
        numbers = {name: number for number, name in enumerate(self.apps)}
        return {name: n for name, n in numbers.items() if self.allowed is None or name in self.allowed}

    def send_many(self, requests, group, ttl):
        return [self._send(node, wire_message) for node, wire_message in requests]

    def collect(self, ids, limit):
        return [self._opened(self._mail.pop(i), limit) for i in ids if i in self._mail]

    def _send(self, node, wire_message):
        message = Message(pack(wire_message), dst_node_id=node, message_type="train")
        number = f"{len(self.logs)}"
        self.logs.append((node, wire_message.kind))
        self._mail[number] = (number, self._answer(node, message))
        return number

    def _opened(self, mail, limit):
        number, reply = mail
        if reply.has_error():
            return Arrived(number, None, reply.error.reason)
        return Arrived(number, unpack(reply.content, limit))

    def push_messages(self, messages):
        for message in messages:
            message.metadata.__dict__["_message_id"] = message.object_id
            self.logs.append((message.metadata.dst_node_id, "secret"))
            assert RECORD_KEY_CONFIGS in message.content
            self._replies[message.object_id] = self._answer(message.metadata.dst_node_id, message)
        return [message.object_id for message in messages]

    def pull_messages(self, ids):
        return [self._replies.pop(i) for i in list(ids) if i in self._replies]

    def _answer(self, node, message):
        name = list(self.apps)[node]
        given = Message(
            recorddict_from_proto(recorddict_to_proto(message.content)), dst_node_id=0, message_type="train"
        )
        given.__dict__["_metadata"] = message.metadata
        try:
            return self.apps[name](given, self.contexts[name])
        except Exception as error:
            return Message(Error(1, _explain(error)), reply_to=message)
