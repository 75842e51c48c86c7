"""What does a node tell of a table that stays with it?  (Answers to questions, and rounds of analyses.)

    question (kind, columns)    -> counts and sums, no cell of which is small
    rows (plan)                 -> how many of its rows the plan uses
    train (model, contract)     -> the client's upload, as for any training
    coefficients (model, contract)  -> draws of its own coefficients, after a penalised regression

The owner sets the smallest cell. A model is refused where the node has too few rows for it, or where one of
its columns of zeros and ones marks fewer rows than that: their sums would speak of single people.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...analytics.hierarchical.device_draws import draw_at_device
from ...analytics.model_matrix import Matrix, Plan, as_design, matrix_of, why_no_rows
from ...analytics.statistics.answers import answer as answer_question
from ...analytics.statistics.questions import Question
from ...data import Federation
from ...data.tables import Table
from ...errors import UnalikeError
from ..analysis_config import AnalysisConfig
from ..client_config import PROTOCOL, NodeRows
from ..transport.messages import MessageError, WireMessage
from .app import NEVER, ClientWorker, Session, below, whole

OF_TABLES = (
    "this node answers questions about a table (`unalike join --table`) and does not train; to train, it "
    "must join with --data."
)


class TableWorker(ClientWorker):
    """One client that keeps its table."""

    def __init__(
        self,
        table: Table,
        folder: Path,
        smallest_cell: int = 5,
        log: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.table, self.folder, self.smallest_cell, self.log = table, folder, smallest_cell, log
        self.devices, self.behaviour, self.stream = None, None, None
        self._open_session: tuple[str, Session] | None = None

    def answer(self, request: WireMessage) -> WireMessage:
        """Do a request; what cannot be done is answered with the reason."""
        mine = {"question": self._question, "rows": self._rows, "coefficients": self._coefficients}
        if request.kind not in mine:
            return super().answer(request)
        try:
            return mine[request.kind](request)
        except UnalikeError as error:
            self.log(f"refused a request: {error}")
            return WireMessage("refusal", {"reason": str(error), "protocol": PROTOCOL})

    def _introduce(self, request: WireMessage) -> WireMessage:
        names = self.table.names
        rows = NodeRows(len(self.table), 0, 0, 0, (len(names),), (), ("float64", "float64"), None, names)
        self.log("told the server how many rows there are, and what columns are called")
        return WireMessage("introduction", {"rows": rows.write(), "protocol": PROTOCOL, "table": True})

    def _question(self, request: WireMessage) -> WireMessage:
        kind, words = str(request.numbers.get("about")), _words(request, "words")
        told = answer_question(self.table, Question(kind, words, request.arrays), self.smallest_cell)
        self.log(f"answered a question about {kind} (no cell of fewer than {self.smallest_cell} rows)")
        return WireMessage("answer", {"words": json.dumps(dict(told.words))}, dict(told.arrays))

    def _rows(self, request: WireMessage) -> WireMessage:
        plan = Plan.read(_words(request, "plan"))
        matrix = matrix_of(self.table, plan)
        if not len(matrix.y):
            raise MessageError(f"{why_no_rows(self.table, plan)} of this node.")
        check_cells(matrix, plan, self.smallest_cell)
        self.log(f"agreed to {plan.formula!r}: {len(matrix.y)} rows, {matrix.dropped} with gaps left out")
        return WireMessage("answer", {"rows": len(matrix.y), "dropped": matrix.dropped})

    def _coefficients(self, request: WireMessage) -> WireMessage:
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
        matrix = check_cells(matrix_of(self.table, plan), plan, self.smallest_cell)
        return config.in_units(as_design({"here": matrix}, plan)).federation


def check_cells(matrix: Matrix, plan: Plan, smallest_cell: int) -> Matrix:
    """The same rows; refused where sums over them would speak of fewer rows than may be told."""
    rows, columns = matrix.x.shape
    least = max(smallest_cell, columns + 1)
    if rows < least:
        raise MessageError(
            f"this node has {rows} rows for {plan.formula!r}; it tells nothing of fewer than {least}."
        )
    for j, term in enumerate(plan.terms):
        values = matrix.x[:, j]
        marked = int(np.count_nonzero(values))
        if np.isin(values, (0.0, 1.0)).all() and 0 < min(marked, rows - marked) < smallest_cell:
            raise MessageError(
                f"{term} tells fewer than {smallest_cell} rows of this node apart; it tells no such sums."
            )
    return matrix


def _words(request: WireMessage, name: str) -> dict[str, object]:
    try:
        found = json.loads(str(request.numbers.get(name)))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise MessageError(f"the request {request.kind!r} does not say {name}.")
    return found
