"""Similarity of real clients, from one message of each node.

The server asks every node for its direction and compares what comes; nodes whose owners do not agree are left
out. There is no reference of shuffled rows, because rows never meet. The measure is that of
`data/similarity/federation_similarity.py`:

    hom = mean_{i != j} A_ij / 2,     A_ij = -ln((1 - m_i . m_j) / 2).
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..data import Federation
from ..data.similarity import Similarity, similarity_of
from ..data.similarity.misalignment import check_messages
from ..errors import DataError, RunError
from ..experiments.config import Experiment
from ..runs.atomic import write_bytes
from ..typing import Float64s
from .client_config import NodeRows
from .node_agreement import gather_federation
from .server import make_contracts
from .transport.mailbox import Mailbox, MessageGrid
from .transport.messages import WireMessage

LARGEST = 2**26
"""Bytes of an answer."""
Log = Callable[[str], None]


def ask_directions(
    experiment: Experiment,
    post: MessageGrid,
    told: Mapping[str, NodeRows],
    patience: float = 600.0,
    log: Log = lambda line: None,
) -> Similarity:
    """The similarity of the nodes that tell their directions."""
    names = list(told)
    federation = gather_federation(dict(told), experiment)
    mailbox = Mailbox(post, names, limit=LARGEST)
    seed = secrets.randbelow(2**31)
    requests = {
        i: {"contract": contract.write(), "seed": seed}
        for i, contract in enumerate(make_contracts(experiment, federation, "similarity"))
    }
    found, _ = mailbox.ask("direction", requests, {}, "similarity", patience)
    for event in mailbox.events():
        log(f"node {event['name']} is not compared: {event.get('reason', event['kind'])}")
    messages = {i: _read(names[i], found[i]) for i in sorted(found)}
    if len({len(message) for message in messages.values()}) > 1:
        lengths = ", ".join(f"{names[i]} {len(message)}" for i, message in messages.items())
        raise RunError(f"nodes blur their directions in different ways (lengths: {lengths}); agree on one.")
    if not messages:
        raise RunError("no node tells its direction; its owner must agree (`unalike join --tell-direction`).")
    clients = np.array(list(messages), np.int64)
    return similarity_of(np.stack(list(messages.values())), clients=clients, population=len(names))


def write_node_similarity(found: Similarity, federation: Federation, folder: Path) -> tuple[Path, Path]:
    """`similarity.json` and `similarity.html` in a run's folder."""
    from ..report.similarity_report import report_similarity

    numbers = folder / "similarity.json"
    finite = {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in found.as_dict().items()}
    write_bytes(numbers, json.dumps(finite, indent=2).encode())
    # Labels are not known here, so that the page must not count them.
    return numbers, report_similarity(folder / "similarity.html", found, replace(federation, classes=None))


def _read(name: str, answer: WireMessage) -> Float64s:
    """A unit vector, by a node that need not be honest."""
    given = answer.arrays.get("direction")
    if given is None or given.ndim != 1 or given.dtype.kind != "f":
        raise RunError(f"node {name} did not answer with a direction.")
    try:
        return check_messages(given[None])[0]
    except DataError as error:
        raise RunError(f"node {name}: {error}") from None
