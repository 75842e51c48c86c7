"""Retraining with real clients after unlearning: the remaining nodes keep their places.

A forgotten node need not come any more, and if it does, nothing is sent to it. Its place is kept, without
rows, because the others' draws depend on their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..algorithms.shared.local_state import keep_state
from ..core.run_files import UNLEARNING
from ..engine import root_key
from ..errors import RunError
from ..experiments.build import make_algorithm, make_task
from ..experiments.forget import start_afresh
from ..experiments.forget_plan import ForgettingRun, open_run
from ..experiments.retraining import remaining_clients
from ..participation import Remaining
from ..trust.unlearning.history import BranchHistory
from ..trust.unlearning.requests import FILE, Request
from .client_config import NodeRows
from .node_agreement import gather_federation
from .transport.mailbox import Arrival, MessageGrid
from .transport.messages import WireMessage


class Retraining(NamedTuple):
    """What a retraining does differently."""

    who: Remaining
    rounds: int
    stop_at: str | None
    history: BranchHistory


class RemainingNodes:
    """The network without some nodes, whom nothing reaches."""

    def __init__(self, post: MessageGrid, gone: Sequence[str]) -> None:
        self._post, self._gone = post, frozenset(gone)

    @property
    def grid(self) -> Any:
        """Flower's own grid of the whole network, which secure aggregation sends to chosen nodes by."""
        return self._post.grid  # type: ignore[attr-defined]

    def nodes(self) -> Mapping[str, int]:
        """The nodes that are there and remain, by name."""
        return {name: node for name, node in self._post.nodes().items() if name not in self._gone}

    def send_many(self, requests: Sequence[tuple[int, WireMessage]], group: str, ttl: float) -> Sequence[str]:
        """Send requests to nodes."""
        return self._post.send_many(requests, group, ttl)

    def collect(self, ids: Sequence[str], limit: int) -> Sequence[Arrival]:
        """What has arrived."""
        return self._post.collect(ids, limit)


class ForgottenNodes(NamedTuple):
    """A request that the remaining nodes of a run are to retrain."""

    run: ForgettingRun
    request: Request

    @property
    def names(self) -> list[str]:
        """The nodes that were forgotten."""
        return [self.run.names[client] for client in self.run.log.forgotten]

    @property
    def remaining(self) -> int:
        """How many nodes remain."""
        return len(self.run.names) - len(self.names)

    def in_their_places(self, told: Mapping[str, NodeRows]) -> dict[str, NodeRows]:
        """All nodes in the order of their numbers; the forgotten ones have no rows."""
        nobody = replace(next(iter(told.values())), train=0, validation=0, test=0)
        missing = [name for name in self.run.names if name not in told and name not in self.names]
        if missing:
            raise RunError(f"{self.run.path} goes on with all who remain; {', '.join(missing)} is missing.")
        return {name: nobody if name in self.names else told[name] for name in self.run.names}

    def fitted(self, told: Mapping[str, NodeRows]) -> ForgottenNodes:
        """The same request; it starts with a new model where the rows of those that remain have other classes
        than the model that was kept."""
        experiment, request = self.run.experiment, self.request
        federation = gather_federation(dict(told), experiment)
        task = make_task(experiment, federation)
        ready = keep_state(make_algorithm(experiment), task).prepare(task, federation)
        first = ready.init(task, root_key(experiment.seed, "init"))
        try:
            self.run.branch(request.number).state(0, first)
        except RunError:
            return self._replace(request=start_afresh(self.run, request, first))
        return self

    def retraining(self) -> Retraining:
        """What is done differently."""
        request = self.request
        history = self.run.branch(request.number)
        remaining = remaining_clients(self.run.experiment, self.run.log.forgotten)
        return Retraining(remaining, request.rounds, request.stop_at, history)


def load_forgotten_nodes(path: Path | None) -> ForgottenNodes | None:
    """The request that the remaining nodes of a run are to retrain; None where nobody was forgotten."""
    if path is None or not (path / UNLEARNING / FILE).exists():
        return None
    run = open_run(path)
    request = run.log.pending
    if request is None:
        raise RunError(f"clients of {path} were forgotten; training on would bring them back.")
    if request.stage != "started":
        raise RunError(f"{path} still holds the clients; go on with `unalike forget {path} --resume` first.")
    return ForgottenNodes(run, request)
