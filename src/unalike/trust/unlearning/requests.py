"""The journal of unlearning requests.

    planned    it is known where training starts again; nothing was changed
    started    what must not be kept is erased, and the model with its noise is written
    finished   the retrained model and its certificate are published

The journal is one JSON file that is replaced at once, so after `kill -9` a request is in one of these stages,
and going on from it leads to the same end.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from ...errors import RunError
from ...runs.atomic import write_bytes
from ...typing import Document, Fields
from .calibration import Budget
from .oracle import Node, Rule
from .sensitivity import Mode

FILE = "requests.json"
Stage = Literal["planned", "started", "finished"]


@dataclass(frozen=True)
class Request:
    """One request, with what was decided for it."""

    number: int
    """1 for the first; also the number of the branch that it trains."""
    names: tuple[str, ...]
    clients: tuple[int, ...]
    budget: Budget
    rule: Rule
    mode: Mode
    nodes: tuple[Node, ...]
    """The way to the model that is retrained; the last is where training starts again."""
    sensitivities: tuple[float, ...]
    """What each client's sensitivity is there: the largest on the way, or, by the rule path, their sum; by
    the rule group, that of all clients of the request together."""
    noises: int
    """How many noises on the way hide something of a client, or, by the rule group, of the group."""
    rounds_before: int
    """Rounds of the training that it replaces."""
    rounds: int
    stop_at: str | None
    digest_before: str | None
    asked_at: str
    stage: Stage = "planned"
    fresh: bool = False
    """Whether training starts from a new model, because rows of the others were prepared with the clients'
    rows and had to be prepared again."""

    @property
    def restart(self) -> Node:
        """The model from which training starts again."""
        return self.nodes[-1]


class RequestLog:
    """The requests of a run; empty where there were none."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.requests = _read(self.path)

    @property
    def pending(self) -> Request | None:
        """The request that was begun and not finished."""
        last = self.requests[-1] if self.requests else None
        return last if last is not None and last.stage != "finished" else None

    @property
    def forgotten(self) -> tuple[int, ...]:
        """The clients of all requests."""
        return tuple(client for request in self.requests for client in request.clients)

    @property
    def sigmas(self) -> dict[int, float]:
        """The deviation of each request's noise, by its number, which is also that of its branch."""
        return {request.number: request.budget.sigma for request in self.requests}

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The way to the present model, by the last request."""
        return self.requests[-1].nodes if self.requests else ()

    def write(self, request: Request) -> None:
        """Add a request, or replace it by what it has become."""
        others = [one for one in self.requests if one.number != request.number]
        self.requests = [*others, request]
        words = json.dumps({"requests": [_as_json(one) for one in self.requests]}, indent=2)
        write_bytes(self.path, words.encode())

    def advance(self, request: Request, stage: Stage) -> Request:
        """Note that a request has come to a stage."""
        advanced = replace(request, stage=stage)
        self.write(advanced)
        return advanced


def _as_json(request: Request) -> Document:
    return asdict(request) | {"nodes": [list(node) for node in request.nodes]}


def _read(path: Path) -> list[Request]:
    if not path.exists():
        return []
    try:
        return [_request(words) for words in json.loads(path.read_text(encoding="utf-8"))["requests"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path} is damaged ({error}); what was forgotten cannot be read.") from None


def _request(words: Fields) -> Request:
    lists = {name: tuple(words[name]) for name in ("names", "clients", "sensitivities")}
    nodes = tuple(Node(*node) for node in words["nodes"])
    return Request(**{**words, **lists, "nodes": nodes, "budget": Budget(**words["budget"])})
