"""What do methods that hide single rows spend?  (The account of DP-SGD, in every training.)"""

from __future__ import annotations

import numpy as np

from ..aggregation.base import Aggregator
from ..aggregation.wrapper import AggregatorWrapper
from ..algorithms import DPSGD, Algorithm
from ..algorithms.dp_sgd import PrivateRows
from ..algorithms.shared.wrapper import AlgorithmWrapper
from ..data import Federation
from ..engine.shards import local_steps
from ..errors import ConfigError
from ..privacy.row_accounting import RowAccount, RowLedger

DELTA = 1e-5
"""At which epsilon is counted, unless another is said."""


def account_rows(
    rule: Aggregator,
    algorithm: Algorithm,
    federation: Federation,
    streamed: bool,
    delta: float = DELTA,
    budget: float | None = None,
) -> Aggregator:
    """The server's rule, beside which noise on single rows is counted where the method adds it.

    Args:
        rule: what the server makes of uploads; one that counts already stays as it is.
        algorithm: the method, which may be wrapped.
        federation: whose rows are hidden.
        streamed: whether rows come and go, which the account does not know.
        delta: at which epsilon is counted.
        budget: the epsilon above which training ends.
    """
    method = algorithm
    while isinstance(method, AlgorithmWrapper):
        method = method.inner
    if not isinstance(method, DPSGD) or counts_rows(rule):
        return rule
    if streamed:
        raise ConfigError(
            f"what {method.name} spends is counted for rows that are there from the start; leave out stream."
        )
    ledgers = {
        column: row_ledger(method, rows, federation, getattr(method, rows.noise), delta, budget)
        for column, rows in method.private_rows(federation.train.sizes).items()
    }
    return RowAccount(rule, ledgers)


def counts_rows(rule: Aggregator) -> bool:
    """Whether a rule has an account of rows, in whatever it is wrapped."""
    while isinstance(rule, AggregatorWrapper):
        if isinstance(rule, RowAccount):
            return True
        rule = rule.rule
    return False


def row_ledger(
    algorithm: DPSGD,
    rows: PrivateRows,
    federation: Federation,
    noise: float,
    delta: float,
    budget: float | None,
) -> RowLedger:
    """The account of a set of rows: every client's sampling rate, and its steps in a round."""
    batch = algorithm.work.batch_size
    expected = np.minimum(batch, rows.sizes) if batch else rows.sizes
    rates = expected / np.maximum(rows.sizes, 1)
    steps = local_steps(algorithm.work, federation.train.sizes)
    return RowLedger(rates, steps, noise, delta, budget)
