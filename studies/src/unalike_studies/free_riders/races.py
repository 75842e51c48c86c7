"""Scenarios of the study: one method trained with every number and kind of free-riders.

Softmax regression of digits, five local passes a round; T rounds without free-riders or with one, 2 T with
five, 3 T with forty-five. All scenarios start from one model and see the same mini-batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import jax
import numpy as np

from unalike.algorithms import Algorithm, FedAvg, FedProx, LocalWork, Optimizer
from unalike.core.pytrees import size
from unalike.data import Federation
from unalike.training.run import Run
from unalike.training.train import train
from unalike.trust.behaviors import SimulatedAttack
from unalike.typing import Float64s, State

from .data import FREE_RIDERS, Shards, with_free_riders

ROUNDS, TARGET = 60, 31
"""T, and the round of honest training whose loss others must reach."""
LONGER = {0: 1, 1: 1, 5: 2, 45: 3}
"""Rounds over T, by the number of free-riders."""
DISGUISES = {"sigma": "decay,1,1", "3 sigma": "decay,1,3", "gamma 0.5": "decay,0.5,1", "gamma 2": "decay,2,1"}
STARTS = 5
"""Other first models of honest training."""


@dataclass(frozen=True)
class Outcome:
    """A training, as curves over rounds (before the first and after each)."""

    accuracy: Float64s
    loss: Float64s
    run: Run

    @property
    def final(self) -> float:
        """Accuracy at the end, in per cent."""
        return float(self.accuracy[-1])

    def reaches(self, loss: float) -> int | None:
        """The first round with at most that training loss."""
        there = np.flatnonzero(self.loss <= loss)
        return int(there[0]) if len(there) else None


@dataclass(frozen=True, eq=False)
class Race:
    """All scenarios of one method."""

    data: Shards
    kind: type[FedAvg]
    rate: float = 0.5
    scale: float = 1.0
    """Of pixels, which are 0 to 1."""
    draw: int = 0
    """Which draw of the clients' shards."""

    @property
    def name(self) -> str:
        """For claims."""
        return "FedAvg" if self.kind is FedAvg else "FedProx, mu = 1"

    @property
    def method(self) -> FedAvg:
        """Five local passes of plain SGD."""
        work = LocalWork(epochs=5, batch_size=self.data.batch_size)
        made = self.kind(work=work, optimizer=Optimizer("sgd", self.rate))
        return replace(made, mu=1.0) if isinstance(made, FedProx) else made

    @cached_property
    def honest(self) -> Federation:
        """The five clients that train."""
        return self.data.federation(self.draw, self.scale)

    def start(self, number: int) -> State:
        """A first model, uniform between -1 and 1 over the square root of the number of inputs."""
        state = self.method.init(self.data.task, jax.random.key(0))
        reach = (10 / size(state["params"])) ** 0.5
        leaves, structure = jax.tree.flatten(state["params"])
        keys = jax.random.split(jax.random.key(number), len(leaves))
        drawn = [
            jax.random.uniform(k, leaf.shape, leaf.dtype, -reach, reach)
            for k, leaf in zip(keys, leaves, strict=True)
        ]
        return State({**state, "params": jax.tree.unflatten(structure, drawn)})

    def learn(self, federation: Federation, method: Algorithm, rounds: int, start: State) -> Run:
        """Train, and judge every model on the way."""
        options = {"rounds": rounds, "seed": 1, "evaluate_every": 1}
        return train(federation, self.data.task, method, initial=start, **options)  # type: ignore[arg-type]

    def ridden(self, free_riders: int, kind: str, rounds: int, start: State) -> Run:
        """Train with so many free-riders of a kind."""
        federation = with_free_riders(self.honest, free_riders)
        attack = SimulatedAttack.of(f"free-rider:{kind}", str(free_riders), federation)
        return self.learn(attack.federation(federation), attack.algorithm(self.method), rounds, start)

    def scenario(self, free_riders: int = 0, kind: str = "plain", start: int = 0) -> Outcome:
        """A training of the study."""
        run = self.ridden(free_riders, kind, LONGER[free_riders] * ROUNDS, self.start(start))
        curves = run.metrics()
        return Outcome(100 * curves["test_accuracy"], curves["validation_loss"], run)

    @cached_property
    def fair(self) -> Outcome:
        """Without free-riders."""
        return self.scenario()

    @cached_property
    def others(self) -> list[float]:
        """Accuracies without free-riders, from other first models."""
        return [self.scenario(start=start).final for start in range(1, STARTS + 1)]

    @cached_property
    def plain(self) -> dict[int, Outcome]:
        """With plain ones, by their number."""
        return {count: self.scenario(count) for count in FREE_RIDERS}

    @cached_property
    def disguised(self) -> dict[tuple[int, str], Outcome]:
        """With disguised ones, by their number and disguise."""
        one = {(1, words): self.scenario(1, kind) for words, kind in DISGUISES.items()}
        return one | {
            (count, words): self.scenario(count, DISGUISES[words])
            for count in FREE_RIDERS[1:]
            for words in ("sigma", "3 sigma")
        }

    def slow_down(self, count: int) -> float:
        """Rounds to the honest loss of a round, over that round; infinite where it is not reached."""
        found = self.plain[count].reaches(float(self.fair.loss[TARGET]))
        return np.inf if found is None else found / TARGET
