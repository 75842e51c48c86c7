"""Nodes in this process behind a post that can be told to misbehave."""

import time
from typing import NamedTuple

import unalike
from unalike.deploy.client.app import Worker
from unalike.deploy.client_config import Rows
from unalike.deploy.transport.messages import Parcel, pack, unpack
from unalike.experiments.config import make_experiment


class Arrived(NamedTuple):
    message_id: str
    parcel: Parcel | None
    error: str | None = None


class Village:
    """A post whose nodes answer at once, except where `mischief[name](errand, answer)` makes something else
    of it: another parcel, a delay in seconds, an error as words, or None for silence."""

    def __init__(self, federation, folder):
        names = [f"node-{i}" for i in range(len(federation))]
        self._open({name: Worker(federation.subset([i]), folder / name) for i, name in enumerate(names)})

    @classmethod
    def of(cls, workers):
        """Nodes that were made elsewhere, by name."""
        village = cls.__new__(cls)
        village._open(workers)
        return village

    def _open(self, workers):
        self.workers = workers
        self.away, self.mischief, self.errands = set(), {}, []
        self._mail = {}

    def nodes(self):
        return {name: i for i, name in enumerate(self.workers) if name not in self.away}

    def send_many(self, errands, group, ttl):
        return [self._deliver(node, parcel) for node, parcel in errands]

    def _deliver(self, node, errand):
        name = list(self.workers)[node]
        identification = f"{len(self.errands)}"
        self.errands.append((name, errand))
        answer = self.workers[name].answer(errand)
        trick = self.mischief.get(name, lambda errand, answer: answer)(errand, answer)
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
                if arrived.parcel is None
                else arrived._replace(parcel=unpack(pack(arrived.parcel), limit))
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
    return [Rows.of(worker.federation) for worker in village.workers.values()]
