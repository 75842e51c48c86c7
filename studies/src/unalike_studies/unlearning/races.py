"""Trainings of a long study of unlearning: every scheme, seed by seed, each kept as soon as it is finished.

Fraboni, Van Waerebeke, Scaman, Vidal, Kameni and Lorenzi, "SIFU: Sequential Informed Federated Unlearning"
(2024): budget (10, 0.01) by the classic calibration, training until an accuracy is reached, but at least 50
and at most 10,000 rounds. A first training is repeated only where a scheme that needs it is not finished.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from unalike.data.sources.files import require_local
from unalike.experiments.unlearning_branch import Branch, Retain, RetainRestarts, retain_rounds
from unalike.experiments.unlearning_schemes import (
    Forgetting,
    Scheme,
    UnlearningProblem,
    forget_in_sequence,
    prefixes,
    train_branch,
)
from unalike.privacy.central import CentralPrivacy, central_dp
from unalike.trust.unlearning.calibration import Budget, classic_ratio
from unalike.trust.unlearning.sensitivity import Ledger, Mode
from unalike.typing import Float64s

from ..study import Effort
from ..trainings import describe_training
from .data import CLIENTS, Benchmark

EPSILON, DELTA = 10.0, 0.01
MOST, LEAST, SEEDS = 10_000, 50, 10
MODES: tuple[Mode, ...] = ("reference", "realized")
REFERENCE, HONEST = "sifu", "sifu, realized ledger"
RACED = ("scratch", "fine-tuning", "fedaccum", "dp", REFERENCE, HONEST)
UNDERCOUNTS = "with the reference ledger, which undercounts a drawn client by (M-1)/(m-1) = 11"
_PER_ROUND = 10
_KEPT = ("rounds", "bytes_sent", "residual", "utility", "first", "noise")
Requests = Sequence[Sequence[int]]
Results = dict[str, list[list[Forgetting]]]
"""By scheme: for every seed, what every request came to."""


def make_private_rule(clip: float) -> CentralPrivacy:
    """The published noise per round: (2 clip / M) C(delta) / epsilon, on the mean of ten of a hundred."""
    deviation = 2 / CLIENTS / classic_ratio(EPSILON, DELTA)
    return central_dp(clip, deviation / (1 / _PER_ROUND), DELTA, clients=CLIENTS)


@dataclass(frozen=True, eq=False)
class Races:
    """Schemes on one benchmark.

    Args:
        benchmark: clients, model and settings.
        sequences: requests that are made one after the other, each sequence after the same first training.
        effort: how much of what was published is repeated, and where finished trainings are.
        watermarked: whether clients differ by watermarks, and not by classes.
    """

    benchmark: Benchmark
    sequences: Sequence[Requests]
    effort: Effort = field(default_factory=Effort)
    watermarked: bool = False

    def __post_init__(self) -> None:
        require_local(self.benchmark.file, f"images of {self.benchmark.name}")

    @property
    def seeds(self) -> int:
        """How many seeds there are."""
        return self.effort.runs_of(SEEDS)[0]

    @property
    def most(self) -> int:
        """Rounds after which a training is given up."""
        return self.effort.length_of(MOST, "rounds")[0]

    @property
    def note(self) -> str:
        """What is less than was published."""
        return f"{self.effort.runs_of(SEEDS)[1]}, at most {self.effort.length_of(MOST, 'rounds')[1]}"

    def expect(self, schemes: Sequence[str] = RACED, sequences: int = 1) -> None:
        """Plan all trainings of some schemes, for so many sequences."""
        self.effort.trainings.expect(len(schemes) * self.seeds * sequences)

    def results(self, number: int = 0, schemes: Sequence[str] = RACED) -> Results:
        """What a sequence of requests came to, by scheme and seed; seed by seed, so that a first training
        serves all schemes."""
        table = [[self.race(scheme, seed, number) for scheme in schemes] for seed in range(self.seeds)]
        return {scheme: [seed[place] for seed in table] for place, scheme in enumerate(schemes)}

    def race(self, scheme: str, seed: int, number: int = 0) -> list[Forgetting]:
        """One sequence of requests by one scheme."""
        requests, problem = self.sequences[number], self.problem(seed)
        decides: Mapping[str, Any] = {
            **describe_training(problem.federation, problem.task),
            **asdict(self.benchmark),
            "scheme": scheme,
            "seed": seed,
            "requests": [list(request) for request in requests],
            "stop_at": problem.stop_at,
            "most": problem.rounds,
        }
        numbers = self.effort.trainings.numbers(decides, lambda: self._train(scheme, seed, requests))
        return [_forgetting(row) for row in numbers.reshape(-1, len(_KEPT))]

    def _train(self, scheme: str, seed: int, requests: Requests) -> Float64s:
        problem, limit = self.problem(seed), self._budget.largest_sensitivity
        mode: Mode = "realized" if scheme.endswith("realized ledger") else "reference"
        plain: Any = "fine-tuning" if scheme == "dp" else scheme.split(",")[0]
        name: Scheme = plain
        rule = make_private_rule(self.benchmark.clip) if scheme == "dp" else None
        retain: Retain = RetainRestarts(requests, limit, mode) if name == "sifu" else retain_rounds(0)
        first = _first_training(self, seed, scheme == "dp")
        found = forget_in_sequence(
            problem, name, requests, first, self._budget, mode, aggregator=rule, retain=retain
        )
        return np.array([[getattr(one, name) for name in _KEPT] for one in found]).ravel()

    def problem(self, seed: int) -> UnlearningProblem:
        """Clients and rules of one seed."""
        least = max(1, round(self.effort.share * LEAST))
        return self.benchmark.problem(seed, self.watermarked, self.most, least)

    @property
    def _budget(self) -> Budget:
        return Budget(EPSILON, DELTA, self.benchmark.sigma, "classic")

    def train_first(self, seed: int, private: bool) -> Branch:
        """The first training of a seed, with all that a scheme may need of it."""
        problem, limit = self.problem(seed), self._budget.largest_sensitivity
        if private:
            rule = make_private_rule(self.benchmark.clip)
            return train_branch(problem, problem.start(), aggregator=rule, retain=retain_rounds(0))
        every = [request for requests in self.sequences for request in requests]
        rules = [RetainRestarts(every, limit, mode) for mode in MODES]

        def retain(done: int, ledger: Ledger) -> set[int]:
            return set().union(*(rule(done, ledger) for rule in rules))

        gone = [who for requests in self.sequences for who in prefixes(requests)]
        return train_branch(problem, problem.start(), replays=gone, retain=retain)


@lru_cache(maxsize=2)
def _first_training(races: Races, seed: int, private: bool) -> Branch:
    return races.train_first(seed, private)


def _forgetting(row: Float64s) -> Forgetting:
    """What a request came to, from the numbers that were kept; where it restarted is not among them."""
    values = dict(zip(_KEPT, row.tolist(), strict=True))
    return Forgetting(**{**values, "rounds": int(values["rounds"])}, restart=None)
