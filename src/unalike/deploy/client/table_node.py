"""A table node: answers to questions, and rounds of analyses, without sending rows.

    question (kind, columns)    -> counts and sums, no cell of which is small
    rows (plan)                 -> how many of its rows the plan uses
    train (model, contract)     -> the client's upload, as for any training
    coefficients (model, contract)  -> draws of its own coefficients, after a penalized regression

The owner sets a policy of disclosure control (:mod:`...analytics.disclosure`). What it does not allow is
refused with the name of the rule, and what was answered is kept in `disclosure.json` of the node's folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...analytics.disclosure import DisclosureError, DisclosureGuard, DisclosureLedger, DisclosurePolicy
from ...analytics.disclosure.full_batches import check_full_batches
from ...analytics.disclosure.model_checks import disclose_matrix
from ...analytics.disclosure.newton_rounds import check_step
from ...analytics.gaussian_process.fgpr import FGPR
from ...analytics.hierarchical.device_draws import draw_at_device
from ...analytics.model_matrix import Plan, as_design
from ...analytics.statistics.answers import WITHHELD
from ...analytics.statistics.central_sums import to_sums
from ...analytics.statistics.questions import Answer, Question
from ...data import Federation
from ...data.tables import Table
from ...errors import UnalikeError
from ...typing import Document, Float64s
from ..analysis_config import AnalysisConfig
from ..client_config import PROTOCOL, NodeRows
from ..secure_sums.node import PEERS, SumSession, check_summable
from ..transport.messages import MessageError, WireMessage, arrays_to_vector
from .app import NEVER, ClientWorker, Session, below, whole

OF_TABLES = (
    "this node answers questions about a table (`unalike join --table`) and does not train; to train, it "
    "must join with --data."
)

LEDGER = "disclosure.json"


class TableWorker(ClientWorker):
    """One client that keeps its table."""

    def __init__(
        self,
        table: Table,
        folder: Path,
        policy: DisclosurePolicy | None = None,
        log: Callable[[str], None] = lambda line: None,
        secure_only: bool = False,
    ) -> None:
        self.secure_only = secure_only
        """Whether sums are answered with masks only."""
        self._sums: SumSession | None = None
        self._process = os.getpid()
        self.table, self.folder, self.log = table, folder, log
        self.guard = DisclosureGuard(table, policy, DisclosureLedger(table, folder / LEDGER))
        self.devices, self.behavior, self.stream = None, None, None
        self._open_session: tuple[str, Session] | None = None

    def answer(self, request: WireMessage) -> WireMessage:
        """Do a request; what cannot be done is answered with the reason."""
        mine = {
            "question": self._question,
            "rows": self._rows,
            "coefficients": self._coefficients,
            "sum-key": self._sum_key,
        }
        self._remember()
        if request.kind not in mine:
            return super().answer(request)
        try:
            return mine[request.kind](request)
        except UnalikeError as error:
            self.log(f"refused a request: {error}")
            return WireMessage("refusal", {"reason": str(error), "protocol": PROTOCOL})

    def _remember(self) -> None:
        """In a new process, know what was answered by the one before, which was given up."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self.guard.ledger.reload()

    def _introduce(self, request: WireMessage) -> WireMessage:
        names = self.table.names
        rows = NodeRows(len(self.table), 0, 0, 0, (len(names),), (), ("float64", "float64"), None, names)
        self.log("told the server how many rows there are, and what columns are called")
        return WireMessage("introduction", {"rows": rows.write(), "protocol": PROTOCOL, "table": True})

    def _question(self, request: WireMessage) -> WireMessage:
        kind, words = str(request.numbers.get("about")), read_words(request, "words")
        question = Question(kind, words, request.arrays)
        if PEERS in request.numbers:
            return self._mask(request, to_sums(question, self.guard.answer(question)))
        if kind != "columns":
            self._check_open(f"a question about {kind}")
        told = self.guard.answer(question)
        if self.secure_only:
            told = without_counts(told)
        self.log(f"answered a question about {kind} (no cell of fewer than {self.guard.minimum} rows)")
        return WireMessage("answer", {"words": json.dumps(dict(told.words))}, dict(told.arrays))

    def _rows(self, request: WireMessage) -> WireMessage:
        plan = Plan.read(read_words(request, "plan"))
        matrix = disclose_matrix(self.guard, plan)
        self.log(f"agreed to {plan.formula!r}: {len(matrix.y)} rows, {matrix.dropped} left out")
        return WireMessage("answer", {"rows": len(matrix.y), "dropped": matrix.dropped})

    def _train(self, request: WireMessage) -> WireMessage:
        self._check_step(request)
        if PEERS not in request.numbers:
            self._check_open("a round of an analysis")
            return self._upload(request)
        check_summable(self._session_for(request).setting.algorithm)
        return self._mask(request, arrays_to_vector(below(self._upload(request).arrays, "upload")))

    def _upload(self, request: WireMessage) -> WireMessage:
        return super()._train(request)

    def _sum_key(self, request: WireMessage) -> WireMessage:
        self._sums = SumSession()
        self.log("made a key for secure sums")
        return WireMessage("answer", {"key": self._sums.public})

    def _mask(self, request: WireMessage, vector: Float64s) -> WireMessage:
        if self._sums is None:
            raise MessageError("this node has no key for secure sums; begin the analysis again.")
        masked = self._sums.mask(vector, request)
        self.log(f"answered a request of kind {request.kind!r} with masks: only the sum of all nodes shows")
        kind = "masked" if request.kind == "train" else "answer"
        return WireMessage(kind, {"words": "{}"}, {"masked": masked})

    def _check_open(self, what: str) -> None:
        """Raise where the owner allows no answers that the server sees by themselves."""
        if self.secure_only:
            raise DisclosureError(
                f"this node answers {what} by secure sums only; serve with --secure-aggregation."
            )

    def _evaluate(self, request: WireMessage) -> WireMessage:
        self._check_open("an evaluation")
        self._check_step(request)
        return super()._evaluate(request)

    def _check_step(self, request: WireMessage) -> None:
        session = self._session_for(request)
        assert isinstance(session.client_config, AnalysisConfig)
        message = session.message(below(request.arrays, "message"))
        method = session.setting.algorithm
        if session.client_config.units is not None and not isinstance(method, FGPR):
            raise MessageError("this method takes rows as the plan makes them, in no other units.")
        x, y = map(np.asarray, session.setting.federation.train.client(0))
        check_full_batches(method, len(y))
        check_step(self.guard, session.client_config.agreed_plan(), method, message, (x, y))

    def _coefficients(self, request: WireMessage) -> WireMessage:
        self._check_open("a question about its own coefficients")
        session, last = self._session_for(request), whole(request, "last")
        if last == NEVER:
            raise MessageError("this node has not taken part, and has no coefficients to tell of.")
        message, memory = session.message(below(request.arrays, "message")), session.memory(last)
        rows = session.setting.federation.train.client(0)
        draws = draw_at_device(session.setting.algorithm, message, memory, *map(np.asarray, rows))
        self.log(f"told {len(draws)} draws of its own coefficients")
        return WireMessage("answer", {}, {"draws": draws})

    def _session_for(self, request: WireMessage) -> Session:
        words = str(request.numbers.get("contract"))
        if self._open_session is None or self._open_session[0] != words:
            config = AnalysisConfig.read(words, OF_TABLES)
            self._open_session = (words, Session(config, self._planned(config), self.folder, self.devices))
        return self._open_session[1]

    def _planned(self, config: AnalysisConfig) -> Federation:
        plan = config.agreed_plan()
        matrix = disclose_matrix(self.guard, plan)
        if config.largest < len(matrix.y):  # room for fewer rows would cut some off
            raise MessageError("the request has no room for all rows of this node.")
        return config.in_units(as_design({"here": matrix}, plan)).federation


def without_counts(answer: Answer) -> Answer:
    """What a node tells of its columns, without how many rows hold each category or miss a value."""
    columns = {
        name: {**facts, "missing": WITHHELD, **_without_counts(facts)}
        for name, facts in answer.words["columns"].items()
    }
    return Answer({**answer.words, "columns": columns})


def _without_counts(facts: Document) -> Document:
    return {"words": dict.fromkeys(facts["words"], WITHHELD)} if "words" in facts else {}


def read_words(request: WireMessage, name: str) -> dict[str, object]:
    """What a request holds as JSON under a name."""
    try:
        found = json.loads(str(request.numbers.get(name)))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise MessageError(f"the request {request.kind!r} does not say {name}.")
    return found
