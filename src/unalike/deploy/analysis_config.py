"""Configuration of an analysis that nodes receive: the plan, the method and the node's place.

Like :class:`.client_config.ClientConfig`, these words go with every request. The method is plain words
(:mod:`..analytics.shareable`), the plan says how a table becomes rows (:mod:`..analytics.model_matrix`);
neither is code.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from ..algorithms import Algorithm
from ..analytics import analyses as _analyses  # noqa: F401 - their methods make themselves known
from ..analytics.design import Design
from ..analytics.fitting import linear_task_of
from ..analytics.gaussian_process.scaling import scale_design
from ..analytics.model_matrix import Plan
from ..analytics.serialization import read_method
from ..data import Federation
from ..errors import UnalikeError
from ..models import Task
from ..typing import Document
from .transport.messages import MessageError

MOST_CLIENTS, MOST_ROWS = 10**6, 2**31


@dataclass(frozen=True)
class AnalysisConfig:
    """What one node is told."""

    run: str
    method: Document
    plan: Document
    number: int
    clients: int
    largest: int
    seed: int = 0
    units: Document | None = None
    """For a Gaussian process, the range of inputs (`domain`), and whether outputs are to be scaled."""
    kind: str = "analysis"

    watch = ()

    @property
    def importance(self) -> float:
        """Clients count equally, so that sums are exact."""
        return 1 / self.clients

    def write(self) -> str:
        """As JSON, for the wire."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    @classmethod
    def read(cls, words: str, of_training: str = "the request is not of an analysis.") -> AnalysisConfig:
        """From what :meth:`write` wrote; anything else is refused, what a training sends with its own
        words."""
        try:
            found = json.loads(words)
            if isinstance(found, dict) and "experiment" in found:
                raise MessageError(of_training)
            made = cls(**found)
            places = (made.number, made.clients, made.largest, made.seed)
            fits = all(type(n) is int and n >= 0 for n in places) and made.kind == "analysis"
            fits = fits and made.number < made.clients <= MOST_CLIENTS and 0 < made.largest < MOST_ROWS
            known = isinstance(made.run, str) and made.run.isascii() and made.run.isalnum()
        except (ValueError, TypeError, RecursionError) as error:
            raise MessageError(f"the request's contract cannot be read ({error}).") from None
        if not fits or not known or len(made.run) > 64:
            raise MessageError("the request gives this node an impossible place in an analysis.")
        return made

    def agreed_plan(self) -> Plan:
        """How this node's table becomes rows."""
        return Plan.read(self.plan)

    def in_units(self, design: Design) -> Design:
        """This node's rows as the method wants them."""
        if self.units is None:
            return design
        try:
            return scale_design(design, self.units["domain"], bool(self.units["standardize"])).design
        except (KeyError, TypeError, ValueError, UnalikeError) as error:
            raise MessageError(f"the request's units cannot be read ({error}).") from None

    def made(self, federation: Federation) -> tuple[Task, Algorithm, int]:
        """The task, the method made ready for this node's own rows, and the seed."""
        try:
            method = read_method(self.method)
            if not isinstance(method, Algorithm):
                raise MessageError("the request does not describe a method.")
            task = linear_task_of(federation.input_shape[0])
            return task, method.prepare(task, federation), self.seed
        except UnalikeError as error:
            raise MessageError(f"the request asks for something impossible: {error}") from None
