"""A node of an analysis with noise: least squares from noisy sums of products.

The sums of products of a model's columns get noise once. Whatever a round of least squares asks for (value,
gradient and Hessian at any coefficients) is computed from them, and spends nothing more. Other models are
refused: their sums would need noise in every round.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...analytics.design import INTERCEPT
from ...analytics.disclosure import DisclosureError, DisclosureLedger
from ...analytics.disclosure.noisy_answers import NoisePolicy, NoisyAnswers
from ...analytics.linear.newton import Newton
from ...analytics.linear.objectives import LeastSquares
from ...analytics.model_matrix import Matrix, Plan, as_design
from ...data import Federation
from ...data.tables import Table
from ...typing import Float64s, Upload
from ..analysis_config import AnalysisConfig
from ..transport.messages import WireMessage
from .app import add_prefix, below, whole
from .table_node import LEDGER, TableWorker, read_words


class NoisyTableWorker(TableWorker):
    """One client that keeps its table, and answers with noise."""

    guard: NoisyAnswers  # type: ignore[assignment]

    def __init__(
        self,
        table: Table,
        folder: Path,
        policy: NoisePolicy,
        log: Callable[[str], None] = lambda line: None,
        secure_only: bool = False,
    ) -> None:
        super().__init__(table, folder, None, log, secure_only)
        ledger = DisclosureLedger(table, folder / LEDGER)
        self.guard = NoisyAnswers(table, policy, ledger)
        self.table = self.guard.table

    def _rows(self, request: WireMessage) -> WireMessage:
        plan = Plan.read(read_words(request, "plan"))
        self.guard.model_products(plan)
        self.log(f"agreed to {plan.formula!r}, with noise")
        return WireMessage("answer", {"rows": len(self.table), "dropped": 0})

    def _check_step(self, request: WireMessage) -> None:
        """The noise protects rows at any coefficients; only least squares can be computed from it."""
        method = self._session_for(request).setting.algorithm
        if not (isinstance(method, Newton) and isinstance(method.objective, LeastSquares)):
            raise DisclosureError("a node with noise (--noise) takes part in linear regressions only.")

    def _upload(self, request: WireMessage) -> WireMessage:
        session = self._session_for(request)
        assert isinstance(session.client_config, AnalysisConfig)
        point = np.asarray(session.message(below(request.arrays, "message")), np.float64)
        plan = session.client_config.agreed_plan()
        products, labels = self.guard.model_products(plan)
        order = [labels.index("1" if term == INTERCEPT else term) for term in plan.terms]
        self.log(f"answered round {whole(request, 'round') + 1} from sums with noise")
        upload = least_squares_upload(products, order, point)
        return WireMessage("upload", {"job": whole(request, "job")}, add_prefix("upload", upload))

    def _evaluate(self, request: WireMessage) -> WireMessage:
        raise DisclosureError("a node with noise (--noise) answers no evaluations.")

    def _coefficients(self, request: WireMessage) -> WireMessage:
        raise DisclosureError("a node with noise (--noise) takes part in linear regressions only.")

    def _planned(self, config: AnalysisConfig) -> Federation:
        """One made-up row: what is sent does not come from the session's rows."""
        plan = config.agreed_plan()
        made_up = Matrix(np.zeros((1, len(plan.terms))), np.zeros(1), 0)
        return as_design({"here": made_up}, plan).federation


def least_squares_upload(products: Float64s, order: list[int], point: Float64s) -> Upload:
    """What a client of least squares uploads, from sums of products of (1, columns, response).

    Args:
        products: The sums; the last column is the response.
        order: The places of the model's terms among the columns.
        point: The coefficients.
    """
    xx, xy, yy = products[np.ix_(order, order)], products[order, -1], products[-1, -1]
    value = 0.5 * (yy - 2 * point @ xy + point @ xx @ point)
    others = {"y": products[0, -1], "yy": yy}
    derivatives = (np.asarray(value), xx @ point - xy, xx)
    summand = {"derivatives": derivatives, "others": others, "rows": products[0, 0]}
    return Upload(summand)
