"""Privacy accounting of a training's noise, and its calibration to a budget.

Clients may add noise to their gradients (DP-SGD) or to their uploads (local differential privacy). What each
has spent is counted beside the server's rule in every training, whoever starts it; with a budget, noise that
is not given is chosen for it, and training ends before it is exceeded.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..aggregation.base import Aggregator
from ..aggregation.wrapper import AggregatorWrapper
from ..algorithms import Algorithm, LocalWork
from ..algorithms.base import USUAL_NOISE, PrivateRows
from ..data import Federation
from ..engine.shards import local_steps
from ..errors import ConfigError
from ..privacy.accountant import Ledger
from ..privacy.central import CentralPrivacy
from ..privacy.local_simulation import LocalAccount
from ..privacy.noise_calibration import check_accountant, check_budget, smallest_noise
from ..privacy.row_accounting import RowAccount, RowLedger
from ..typing import Keywords

DELTA = 1e-5
"""At which epsilon is counted, unless another is said."""


class PrivacyBudget(NamedTuple):
    """What a client, or a row of it, may spend over a training.

    Args:
        epsilon: the most it may spend; nothing is limited when None.
        delta: at which epsilon is counted; 1e-5, or that of local noise, when None.
    """

    epsilon: float | None = None
    delta: float | None = None


NO_BUDGET = PrivacyBudget()


def choose_noise(
    algorithm: Algorithm, federation: Federation, budget: PrivacyBudget, rounds: int | None
) -> Algorithm:
    """The method, with the noise on rows that a budget asks for where none is given.

    Args:
        algorithm: the method, which may be wrapped.
        federation: whose rows are hidden.
        budget: what a row may spend.
        rounds: for how many rounds it must last.
    """
    missing = {
        rows.setting: rows
        for rows in algorithm.private_rows(federation.train.sizes).values()
        if rows.noise is None
    }
    if budget.epsilon is None or not missing:
        return algorithm
    if rounds is None:
        raise ConfigError("noise is chosen for a number of rounds; say how many rounds to train.")
    check_accountant()
    delta = DELTA if budget.delta is None else budget.delta
    check_budget(budget.epsilon, delta)
    chosen: Keywords = {}
    for setting, rows in missing.items():

        def spent(noise: float, rows: PrivateRows = rows) -> float:
            ledger = _row_ledger(algorithm.work, rows._replace(noise=noise), federation, delta, None)
            found = ledger.epsilon(np.full(len(federation), rounds))
            assert found is not None, "the accountant is installed."
            return found

        chosen[setting] = smallest_noise(spent, budget.epsilon)
    return algorithm.with_noise(**chosen)


def account_noise(
    rule: Aggregator,
    algorithm: Algorithm,
    federation: Federation,
    streamed: bool,
    budget: PrivacyBudget = NO_BUDGET,
) -> Aggregator:
    """The server's rule, beside which the noise of clients is counted where the method adds it.

    Args:
        rule: what the server makes of uploads; one that counts already stays as it is.
        algorithm: the method, which may be wrapped.
        federation: whose rows are hidden.
        streamed: whether rows come and go, which the account of rows does not know.
        budget: what may be spent before training ends.
    """
    noise, rows = algorithm.upload_noise, algorithm.private_rows(federation.train.sizes)
    if noise is not None and not _counts(rule, LocalAccount):
        delta = noise.delta if budget.delta is None else budget.delta
        rule = LocalAccount(rule, noise.multiplier, Ledger(len(federation), delta, budget=budget.epsilon))
    if rows and not _counts(rule, RowAccount):
        if streamed:
            raise ConfigError(
                f"what {algorithm.name} spends is counted for rows that are there from the start; leave out "
                "stream."
            )
        delta = DELTA if budget.delta is None else budget.delta
        ledgers = {
            column: _row_ledger(algorithm.work, hidden, federation, delta, budget.epsilon)
            for column, hidden in rows.items()
        }
        rule = RowAccount(rule, ledgers)
    return rule


def limit_central_noise(rule: Aggregator | None, budget: PrivacyBudget) -> Aggregator | None:
    """The rule; where the server adds noise, what it counts keeps the budget, too."""
    if isinstance(rule, CentralPrivacy) and budget.epsilon is not None and rule.ledger.budget is None:
        check_budget(budget.epsilon, rule.ledger.delta)
        ledger = Ledger(len(rule.ledger.charges), rule.ledger.delta, budget=budget.epsilon)
        return replace(rule, ledger=ledger)
    return rule


def check_spent_somewhere(rule: Aggregator | None, algorithm: Algorithm, budget: PrivacyBudget) -> None:
    """Raise for a budget of noise that nobody adds."""
    adds = algorithm.upload_noise is not None or algorithm.private_rows(np.zeros(1, np.int64))
    if budget.epsilon is not None and not adds and not isinstance(rule, CentralPrivacy):
        raise ConfigError(
            "epsilon is the budget of noise; say who adds it, with central_dp or local_dp, such as "
            "central_dp = 1, or with a method such as dp-sgd."
        )


def _counts(rule: Aggregator, account: type[AggregatorWrapper]) -> bool:
    """Whether a rule has such an account, in whatever it is wrapped."""
    while isinstance(rule, AggregatorWrapper):
        if isinstance(rule, account):
            return True
        rule = rule.rule
    return False


def _row_ledger(
    work: LocalWork, rows: PrivateRows, federation: Federation, delta: float, budget: float | None
) -> RowLedger:
    """The account of a set of rows: every client's sampling rate, and its steps in a round."""
    expected = np.minimum(work.batch_size, rows.sizes) if work.batch_size else rows.sizes
    rates = expected / np.maximum(rows.sizes, 1)
    noise = USUAL_NOISE if rows.noise is None else rows.noise
    return RowLedger(rates, local_steps(work, federation.train.sizes), noise, delta, budget)
