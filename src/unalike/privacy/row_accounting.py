"""Row-level privacy accounting of DP-SGD, per client.

A step of a client with n rows and batches of b is a Gaussian release, with noise multiplier z, of a batch in
which every row is with probability q = b / n (Poisson sampling). T steps cost

    epsilon(q, z, T)        by the distribution of the privacy loss, as the package dp-accounting computes it

Abadi et al., "Deep Learning with Differential Privacy", 2016; Koskela, Jaelkoe and Honkela, "Computing Tight
Differential Privacy Guarantees Using FFT", 2020; Doroshenko et al., "Connect the Dots: Tighter Discrete
Approximations of Privacy Loss Distributions", 2022. The loss of one step is rounded to a grid in such a way
that epsilon is never too small. Batches of all rows (q = 1) are plain Gaussian releases, with a closed form.
Clients have batches, rows and steps of their own, hence an
epsilon of their own; the largest is recorded. It is that of a row: what is compared are two runs of which one
has a row that the other has not.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from ..aggregation.base import Aggregator
from ..aggregation.needs import AggregatorNeeds
from ..aggregation.wrapper import AggregatorWrapper
from ..core.extras import install_command, is_installed
from ..timing import Step
from ..typing import Array, ClientIds, Event, Float64s, Int64s, Report
from .accountant import ROUNDING, charge_epsilon

MANY = 2**14
FEW = 256
"""Distributions of single steps that are kept."""
GRID = 1e-3
"""Privacy losses are rounded up to multiples of this, where noise is neither large nor small."""
UNCOUNTED = f"the spent privacy is not counted; install dp-accounting with {install_command('privacy')}."


class RowLedger:
    """How many noisy steps every client has taken, and what they cost.

    `rates` are the clients' sampling rates q, `steps` what each does in a round, `noise` the multiplier z.
    """

    def __init__(
        self, rates: Float64s, steps: Int64s, noise: float, delta: float = 1e-5, budget: float | None = None
    ) -> None:
        self.rates, self.steps = np.asarray(rates, np.float64), np.asarray(steps, np.int64)
        self.noise, self.delta, self.budget = noise, delta, budget
        self.rounds = np.zeros(len(self.rates), np.int64)
        self._promised = np.zeros(len(self.rates), np.int64)

    def charge(self, clients: ClientIds) -> None:
        """A round in which these clients took part."""
        self.rounds[clients] += 1

    def affords(self, clients: ClientIds) -> bool:
        """Whether these clients may take part once more within the budget; what is afforded counts."""
        if self.budget is None:
            return True
        after = np.maximum(self._promised, self.rounds)
        after[clients] += 1
        epsilon = self.epsilon(after)
        if epsilon is None or epsilon > self.budget * (1 + ROUNDING):
            return False
        self._promised = after
        return True

    def epsilon(self, rounds: Int64s | None = None) -> float | None:
        """What the rows of the worst client have spent, after the rounds so far or after others; None where
        nothing can count it."""
        taken = self.steps * (self.rounds if rounds is None else rounds)
        found = [
            sampled_epsilon(rate, self.noise, count, self.delta)
            for rate, count in worst_pairs(self.rates, taken)
        ]
        return None if any(one is None for one in found) else max([one for one in found if one], default=0.0)


@dataclass(frozen=True)
class RowAccount(AggregatorWrapper):
    """A rule of the server, beside which it is counted what clients' noisy steps cost; one ledger for each
    column of the record."""

    rule: Aggregator
    ledgers: Mapping[str, RowLedger] = field(compare=False)

    adds: ClassVar[AggregatorNeeds] = AggregatorNeeds(observe=True)

    def refusal(self, step: Step) -> str | None:
        """The budget, where the step would bring somebody's rows above it."""
        for name, ledger in self.ledgers.items():
            if len(step.clients) and not ledger.affords(step.clients):
                return f"one more round would bring {name} above {ledger.budget:g} at delta {ledger.delta:g}."
        return self.rule.refusal(step)

    def observe(self, step: Step, report: Report) -> tuple[dict[str, float], list[Event]]:
        """Charge everyone who took part, whatever became of its upload."""
        columns, events = super().observe(step, report)
        for name, ledger in self.ledgers.items():
            ledger.charge(step.clients)
            epsilon = ledger.epsilon()
            if epsilon is not None:
                columns = {**columns, name: epsilon}
            elif step.number == 0:
                events = [*events, {"kind": "privacy not counted", "reason": UNCOUNTED}]
        return columns, events

    def state(self) -> dict[str, Array]:
        return {**super().state(), **{name: ledger.rounds.copy() for name, ledger in self.ledgers.items()}}

    def restore(self, state: Mapping[str, Array]) -> None:
        super().restore(state)
        for name, ledger in self.ledgers.items():
            ledger.rounds = np.asarray(state[name], np.int64).copy()


def worst_pairs(rates: Float64s, steps: Int64s) -> list[tuple[float, int]]:
    """The pairs of a rate and a number of steps to which no other is equal or larger in both: epsilon grows
    with both, so the others cannot be the worst.

    >>> worst_pairs(np.array([0.1, 0.2, 0.1, 0.05]), np.array([10, 5, 8, 30]))
    [(0.2, 5), (0.1, 10), (0.05, 30)]
    """
    pairs, most = [], 0
    for rate, count in sorted(zip(rates.tolist(), steps.tolist(), strict=True), reverse=True):
        if count > most:
            pairs.append((rate, count))
            most = count
    return pairs


@lru_cache(maxsize=MANY)
def sampled_epsilon(rate: float, noise: float, steps: int, delta: float) -> float | None:
    """The epsilon of so many steps by dp-accounting; infinite without noise, None if it is not installed.

    >>> sampled_epsilon(0.1, 0.0, 10, 1e-5)
    inf
    """
    if rate <= 0 or steps <= 0:
        return 0.0
    if noise == 0:
        return float("inf")
    if rate >= 1:
        return charge_epsilon(steps / noise**2, delta)
    if not is_installed("dp_accounting"):
        return None
    with _quiet():
        return float(_step_loss(rate, noise).self_compose(steps).get_epsilon_for_delta(delta))


@lru_cache(maxsize=FEW)
def _step_loss(rate: float, noise: float) -> Any:
    """The distribution of the privacy loss of one step, for a row that is added as for one that is left
    out."""
    module = importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
    reach = 0.5 / noise**2 + 10 / noise  # what losses come to, nearly always
    step = max(GRID * min(1.0, 3 / noise), reach / 1e5)
    with _quiet():
        return module.from_gaussian_mechanism(
            noise, sampling_prob=rate, value_discretization_interval=step, use_connect_dots=True
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """What the package says of its numerics is safe and not worth a line."""
    logger = logging.getLogger("absl")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
