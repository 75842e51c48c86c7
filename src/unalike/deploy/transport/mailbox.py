"""Mailbox: requests to real clients, and their answers.

A mailbox knows which node is which client. It sends requests, notices who is away, and opens what arrives:
each answer once, checked before anything is done with it. Whatever goes wrong becomes an event with the
client's name.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ...errors import RunError
from ...training.interrupts import StoppedWaitingError
from ...typing import Array, Event, Fields
from ..client_config import PROTOCOL
from .messages import WireMessage

PAUSE = 0.1
"""Seconds between two looks at what has arrived."""
SELDOM = 0.5
"""Seconds between two looks at who has come."""
LONGEST_REASON = 500
"""Letters of what a node says that are recorded."""


class Arrival(Protocol):
    """An answer, or why there is none."""

    @property
    def message_id(self) -> str:
        """The request that is answered."""

    @property
    def wire_message(self) -> WireMessage | None:
        """What came, if it could be opened."""

    @property
    def error(self) -> str | None:
        """Why there is no message, if there is none."""


class MessageGrid(Protocol):
    """What a mailbox needs of the network."""

    def nodes(self) -> Mapping[str, int]:
        """The nodes that are there, by name."""

    def send_many(self, requests: Sequence[tuple[int, WireMessage]], group: str, ttl: float) -> Sequence[str]:
        """Send requests to nodes; one identification each."""

    def collect(self, ids: Sequence[str], limit: int) -> Sequence[Arrival]:
        """What has arrived of these requests, each once."""


class Answer(NamedTuple):
    """What came of a request."""

    client: int
    request: str
    """Its kind."""
    wire_message: WireMessage | None
    fault: str | None = None
    refused: bool = False
    """Whether the node itself said no."""


class _SentRequest(NamedTuple):
    """An request on its way."""

    client: int
    kind: str
    deadline: float
    awaited: bool = True


class Mailbox:
    """Carries requests to clients, which are named in the order of their numbers."""

    def __init__(self, post: MessageGrid, names: Sequence[str], limit: int = 2**30) -> None:
        self.post, self.names, self.limit = post, list(names), limit
        self.pause: Callable[[float], None] = time.sleep
        """How to wait; raises when somebody asks to stop."""
        self._sent: dict[str, _SentRequest] = {}
        self._events: list[Event] = []

    def send(
        self,
        kind: str,
        requests: Mapping[int, Fields],
        arrays: Mapping[str, Array],
        group: str,
        patience: float,
    ) -> list[int]:
        """Send one request to each of some clients, with numbers of its own and arrays for all; returns who
        is away and was sent nothing."""
        there = self.post.nodes()
        away = [client for client in requests if self.names[client] not in there]
        present = [client for client in requests if self.names[client] in there]
        wire_messages = [
            (there[self.names[c]], WireMessage(kind, {**requests[c], "protocol": PROTOCOL}, arrays))
            for c in present
        ]
        ids = self.post.send_many(wire_messages, group, patience) if wire_messages else []
        deadline = time.monotonic() + patience
        self._sent |= {one: _SentRequest(c, kind, deadline) for one, c in zip(ids, present, strict=True)}
        for client in away:
            self.note("client away", client, errand=kind)
        return away

    def wait_for_anyone(self) -> None:
        """While none of the clients is there, time passes and nothing happens."""
        gone = False
        while not set(self.names) & set(self.post.nodes()):
            if not gone:
                self._events.append({"kind": "everyone away"})
            gone = True
            self.pause(SELDOM)

    def collect(self) -> list[Answer]:
        """What has come since last time, and what will not come any more."""
        answers = [self._opened(one) for one in self.post.collect(list(self._sent), self.limit)]
        return [answer for answer in (*answers, *self._overdue()) if answer is not None]

    def ask(
        self,
        kind: str,
        requests: Mapping[int, Fields],
        arrays: Mapping[str, Array],
        group: str,
        patience: float,
    ) -> tuple[dict[int, WireMessage], list[Answer]]:
        """Send requests and wait for all their answers; answers to other requests are handed on."""
        waiting = set(requests) - set(self.send(kind, requests, arrays, group, patience))
        found: dict[int, WireMessage] = {}
        others: list[Answer] = []
        while waiting:
            for answer in self.collect():
                if answer.request != kind:
                    others.append(answer)
                    continue
                waiting.discard(answer.client)
                if answer.wire_message is not None:
                    found[answer.client] = answer.wire_message
            try:
                self.pause(PAUSE if waiting else 0)
            except StoppedWaitingError:  # what has come is enough then
                break
        return found, others

    def abandon(self, clients: Sequence[int], kind: str) -> None:
        """Nobody waits for these clients' answers any more; one that comes is late."""
        gone = set(clients)
        self._sent = {
            one: sent._replace(awaited=False) if sent.kind == kind and sent.client in gone else sent
            for one, sent in self._sent.items()
        }

    def note(self, kind: str, client: int, **more: Any) -> None:
        """Something happened to a client; its own words are made fit for one line."""
        told = {name: plain_text(value) if isinstance(value, str) else value for name, value in more.items()}
        self._events.append({"kind": kind, "client": client, "name": self.names[client], **told})

    def events(self) -> list[Event]:
        """What happened since last asked."""
        happened, self._events = self._events, []
        return happened

    def _opened(self, arrival: Arrival) -> Answer | None:
        sent = self._sent.pop(arrival.message_id, None)
        if sent is None:
            return None  # answered before
        wire_message, fault = _make_refusal(arrival.wire_message, arrival.error)
        if not sent.awaited:
            if arrival.wire_message is not None:  # otherwise the post only says that it has expired
                self.note("late answer", sent.client, errand=sent.kind)
            return None
        refused = wire_message is None and arrival.wire_message is not None
        if wire_message is None:
            kind = "refused errand" if refused else "bad answer"
            self.note(kind, sent.client, errand=sent.kind, reason=fault or "empty")
        return Answer(sent.client, sent.kind, wire_message, fault, refused)

    def _overdue(self) -> list[Answer]:
        now = time.monotonic()
        overdue = [one for one, sent in self._sent.items() if sent.awaited and sent.deadline < now]
        for one in overdue:
            self._sent[one] = self._sent[one]._replace(awaited=False)
            self.note("no answer", self._sent[one].client, errand=self._sent[one].kind)
        return [
            Answer(self._sent[one].client, self._sent[one].kind, None, "no answer in time") for one in overdue
        ]


def plain_text(words: str) -> str:
    """Words of somebody else without control characters, and not longer than a person reads.

    >>> plain_text("a\\x1b[2Jb\\n")
    'a [2Jb '
    """
    shown = "".join(letter if letter.isprintable() else " " for letter in words[:LONGEST_REASON])
    return shown + ("..." if len(words) > LONGEST_REASON else "")


def _make_refusal(
    wire_message: WireMessage | None, error: str | None
) -> tuple[WireMessage | None, str | None]:
    """A refusal is no answer, but a reason."""
    if wire_message is None or wire_message.kind != "refusal":
        return wire_message, error
    return None, str(wire_message.numbers.get("reason", "the node refused."))


def meet(
    post: MessageGrid,
    clients: int,
    patience: float,
    log: Callable[[str], None],
    refused_nodes: Callable[[], list[str]] = list,
) -> list[str]:
    """Wait until so many nodes are there; their names, in the order of their numbers as clients."""
    deadline, seen = time.monotonic() + patience, -1
    while True:
        refused_nodes()
        names = sorted(post.nodes(), key=_natural)
        if len(names) != seen:
            log(f"{len(names)} of {clients} nodes are there: {', '.join(names) or 'none yet'}")
            seen = len(names)
        if len(names) >= clients:
            return names[:clients]
        if time.monotonic() > deadline:
            raise RunError(f"only {len(names)} of {clients} nodes came in {patience:g} s.")
        time.sleep(SELDOM)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Names in the order in which a person counts: client-2 before client-10."""
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in re.split(r"(\d+)", name) if p]
