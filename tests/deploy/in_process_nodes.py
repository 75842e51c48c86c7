"""Nodes in this process behind a post that can be told to misbehave."""

import time
from typing import NamedTuple

import unalike
from unalike.deploy.client.app import ClientWorker
from unalike.deploy.client_config import NodeRows
from unalike.deploy.transport.messages import WireMessage, pack, unpack
from unalike.experiments.config import make_experiment


class Arrived(NamedTuple):
    message_id: str
    wire_message: WireMessage | None
    error: str | None = None


class Village:
    """A post whose nodes answer at once, except where `mischief[name](request, answer)` makes something else
    of it: another message, a delay in seconds, an error as words, or None for silence."""

    def __init__(self, federation, folder):
        names = [f"node-{i}" for i in range(len(federation))]
        self._open(
            {name: ClientWorker(federation.subset([i]), folder / name) for i, name in enumerate(names)}
        )

    @classmethod
    def of(cls, workers):
        """Nodes that were made elsewhere, by name."""
        village = cls.__new__(cls)
        village._open(workers)
        return village

    def _open(self, workers):
        self.workers = workers
        self.away, self.mischief, self.requests = set(), {}, []
        self._mail = {}

    def nodes(self):
        return {name: i for i, name in enumerate(self.workers) if name not in self.away}

    def send_many(self, requests, group, ttl):
        return [self._deliver(node, wire_message) for node, wire_message in requests]

    def _deliver(self, node, request):
        name = list(self.workers)[node]
        identification = f"{len(self.requests)}"
        self.requests.append((name, request))
        answer = self.workers[name].answer(request)
        trick = self.mischief.get(name, lambda request, answer: answer)(request, answer)
        if isinstance(trick, float):
            self._mail[identification] = (time.monotonic() + trick, Arrived(identification, answer))
        elif isinstance(trick, str):
            self._mail[identification] = (0.0, Arrived(identification, None, trick))
        elif trick is not None:
            self._mail[identification] = (0.0, Arrived(identification, trick))
        return identification

    def collect(self, ids, limit):
        ready = [i for i in ids if i in self._mail and self._mail[i][0] <= time.monotonic()]
        return [self._opened(self._mail.pop(i)[1], limit) for i in ready]

    def _opened(self, arrived, limit):
        """Through Flower's own records where it is installed, so that sizes are checked as on the wire."""
        try:
            import flwr  # noqa: F401
        except ImportError:
            return arrived
        try:
            return (
                arrived
                if arrived.wire_message is None
                else arrived._replace(wire_message=unpack(pack(arrived.wire_message), limit))
            )
        except unalike.UnalikeError as error:
            return Arrived(arrived.message_id, None, str(error))


def experiment(**values):
    return make_experiment(
        {
            "model": "linear",
            "steps": 2,
            "batch_size": 8,
            "learning_rate": 0.2,
            "rounds": 4,
            "seed": 5,
            **values,
        }
    )


def rows(village):
    return [NodeRows.of(worker.federation) for worker in village.workers.values()]
