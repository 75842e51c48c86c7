"""Control of a SuperLink by its owner: registering nodes and starting runs.

These are the requests of `flwr supernode register`, `flwr stop` and `flwr run`. A run of Flower's needs an
app bundle; ours is a label with no code in it, and nobody ever loads it.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Sequence

from flwr.proto.control_pb2 import (
    ListNodesRequest,
    ListRunsRequest,
    RegisterNodeRequest,
    StartRunRequest,
    StopRunRequest,
)
from flwr.proto.fab_pb2 import Fab
from flwr.supercore.control import ControlHttpClient

from ...errors import RunError
from .certificates import AllowedNode
from .wire import expect_answer

_LABEL = b"""
[project]
name = "unalike"
version = "1.0.0"
description = "A label: every node runs its own installed Unalike."
license = "Apache-2.0"

[tool.flwr.app]
publisher = "unalike"
fab-format-version = 0

[tool.flwr.app.components]
serverapp = "nothing:nothing"
clientapp = "nothing:nothing"
"""


def register(client: ControlHttpClient, allowed: Sequence[AllowedNode]) -> dict[int, str]:
    """Have every allowed node registered; returns their numbers and names.

    Nobody is ever unregistered, for Flower's database would not take the key again: those who are no longer
    allowed are stopped at the gate.
    """
    with expect_answer("list its nodes"):
        known = {node.public_key: node.node_id for node in client.ListNodes(ListNodesRequest()).nodes_info}
    for node in allowed:
        if node.public_key not in known:
            with expect_answer(f"admit node {node.name!r}"):
                answer = client.RegisterNode(RegisterNodeRequest(public_key=node.public_key))
            known[node.public_key] = answer.node_id
    return {known[node.public_key]: node.name for node in allowed}


def stop_runs(client: ControlHttpClient) -> None:
    """End the runs that an owner who was killed left behind."""
    with expect_answer("list its runs"):
        runs = client.ListRuns(ListRunsRequest(limit=1000)).run_dict
    for number, run in runs.items():
        if run.status.status != "finished":
            with expect_answer("stop an old run"):
                client.StopRun(StopRunRequest(run_id=number))


def start_run(client: ControlHttpClient) -> int:
    """A new run of Flower's; returns its number."""
    with expect_answer("start a run"):
        answer = client.StartRun(StartRunRequest(fab=label()))
    if not answer.HasField("run_id"):
        raise RunError("the link did not start a run; its log says why.")
    return answer.run_id


def label() -> Fab:
    """The bundle of our runs: a name and a version, the same bytes every time, and no code."""
    content = io.BytesIO()
    digest = hashlib.sha256(_LABEL).hexdigest()
    files = {"pyproject.toml": _LABEL, ".info/CONTENT": f"pyproject.toml,{digest},{8 * len(_LABEL)}".encode()}
    with zipfile.ZipFile(content, "w") as bundle:
        for name, text in files.items():
            bundle.writestr(zipfile.ZipInfo(name), text)
    return Fab(hash_str=hashlib.sha256(content.getvalue()).hexdigest(), content=content.getvalue())
