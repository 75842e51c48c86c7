"""A local deployment: server and nodes on one machine, without terminals.

A link and a node for every client of a federation, over loopback with TLS and keys. The SuperLink and the
SuperNodes are processes as between real machines; what computes at the nodes are threads of this process.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..data import Federation
from ..experiments.config import Experiment
from ..training.run import Run
from ..trust.behaviors import Behavior
from .client.app import ClientWorker
from .client.node import message_app, serve_node
from .transport.certificates import make_authority, make_node_key, read_allowed
from .transport.flower import check_flower, free_port
from .transport.superlink import SuperLink

PULL_EVERY = 0.1


@contextmanager
def local_deployment(
    federation: Federation, folder: Path, behaviors: Mapping[int, Behavior] | None = None
) -> Iterator[SuperLink]:
    """A link that `node-0`, `node-1`, ... join, each with one client's rows; they leave at the end. In a
    attack, `behaviors` are what some of them do in place of being honest, by number."""
    lies = behaviors or {}
    workers = [
        ClientWorker(federation.subset([i]), folder / f"place-{i}", behavior=lies.get(i))
        for i in range(len(federation))
    ]
    with deploy_workers(workers, folder) as link:
        yield link


@contextmanager
def deploy_workers(workers: Sequence[ClientWorker], folder: Path) -> Iterator[SuperLink]:
    """A link that these workers join as `node-0`, `node-1`, ...; they leave at the end."""
    check_flower()
    make_authority(folder, ["localhost"])
    address, stop = f"127.0.0.1:{free_port()}", threading.Event()
    nodes = [_node(worker, i, folder, address, stop) for i, worker in enumerate(workers)]
    with SuperLink(address, folder, read_allowed(folder), folder / "link") as link:
        for node in nodes:
            node.start()
        try:
            yield link
        finally:
            stop.set()
            for node in nodes:
                node.join()


def train_deployed(link: SuperLink, experiment: Experiment, out: Path, clients: int, **options: Any) -> Run:
    """Train what is described with the nodes of a link; `options` are those of `train_nodes`."""
    from .server import introductions, make_folder, train_nodes

    with link.open() as post:
        told = introductions(post, clients, 60.0, lambda line: None)
        folder = make_folder(experiment, out, options.get("resume", False))
        return train_nodes(experiment, post, told, folder, **options)[0]


def _node(
    worker: ClientWorker, i: int, folder: Path, address: str, stop: threading.Event
) -> threading.Thread:
    key, _ = make_node_key(folder, f"node-{i}")
    app = message_app(lambda wire_message, _: worker.answer(wire_message))
    given = (app, address, folder / "ca.pem", key, folder / f"place-{i}", stop, lambda line: None)
    return threading.Thread(target=serve_node, args=given, kwargs={"pull_every": PULL_EVERY})
