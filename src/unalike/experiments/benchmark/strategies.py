"""Benchmark strategies: local, pooled and federated models of centers that may not share rows.

    pooled      all rows in one place: what nobody may do, and everybody is compared with
    local       every center by itself
    cyclic      one model travels from center to center (K. Chang et al., "Distributed deep learning networks
                among institutions for medical imaging", 2018)
    ...         every algorithm of the catalog that has a server

A trip of the cyclic model is a round of one center; it makes as many as all centers together make rounds, so
that every center takes the same number of steps under every strategy but for the size of its passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np

from ...data import Federation, Split
from ...errors import ConfigError
from ...models import Task
from ...participation import Cohort, Participation, RoundContext
from ...training.observers import Observer
from ...training.run import Run
from ...training.train import train
from ...typing import Array, Keywords, PyTree
from ..build import check, make_algorithm
from ..config import Experiment
from .catalog import Benchmark

POOLED, LOCAL, CYCLIC = "pooled", "local", "cyclic"
STRATEGIES = (
    *(POOLED, LOCAL, CYCLIC),
    *("fedavg", "fedprox", "scaffold", "fedadam", "fedyogi", "fedadagrad"),
)
"""What is compared unless something else is asked for."""
_PLAIN = "fedavg"
"""The algorithm that is plain descent when there is one client."""


@dataclass(frozen=True)
class Fitted:
    """A strategy after training: one model, one of each center, or methods that predict in their own way."""

    run: Run
    strategy: str

    @property
    def has_personal_models(self) -> bool:
        """Whether centers predict with something that only the method itself can evaluate."""
        return self.strategy != LOCAL and self.run.setting.algorithm.personalized

    @property
    def bytes_sent(self) -> float:
        """All that went down and up; nothing where rows do not need models that travel."""
        metrics = self.run.metrics()
        if self.strategy in (POOLED, LOCAL):
            return 0.0
        return float(sum(np.nansum(metrics.get(name, 0.0)) for name in ("bytes_down", "bytes_up")))

    def predictor(self, center: int) -> Callable[[Array], Array]:
        """The model of a center, as a function from rows to outputs."""
        task, algorithm = self.run.setting.task, self.run.setting.algorithm
        if self.strategy == LOCAL:
            own = _of_client(self.run, center)["params"]
            return lambda x: np.asarray(task.apply(own, jnp.asarray(x)))
        shared = algorithm.predictor(task, self.run.message, {}, None, None)  # type: ignore[arg-type]
        return lambda x: np.asarray(algorithm.predict(task, shared, jnp.asarray(x)))


class Cyclic(Participation):
    """One client after the other, whose model is taken over as it is.

    >>> [int(Cyclic().cohort(RoundContext(t, np.full(3, 1 / 3))).clients[0]) for t in range(4)]
    [0, 1, 2, 0]
    """

    def cohort(self, turn: RoundContext) -> Cohort:
        """The client whose turn it is."""
        return Cohort(np.array([turn.number % len(turn.importance)]), np.ones(1))

    def cohort_size(self, clients: int) -> int:
        return 1


def check_strategies(names: Sequence[str], benchmark: Benchmark) -> None:
    """Raise for a strategy that does not exist or cannot have this benchmark, before any data are read."""
    for name in names:
        chosen = benchmark.epochs_experiment(algorithm_of(name), seed=0)
        check(chosen)
        personal = name != LOCAL and make_algorithm(chosen).personalized
        if personal and benchmark.kind == "survival":
            raise ConfigError(
                f"{name} gives every center a model of its own, which the concordance index cannot judge "
                "here; leave it out, or take a benchmark of classes."
            )


def algorithm_of(strategy: str) -> str:
    """The algorithm of the catalog that a strategy runs."""
    return _PLAIN if strategy in (POOLED, CYCLIC) else strategy


def strategy_experiment(strategy: str, benchmark: Benchmark, federation: Federation, seed: int) -> Experiment:
    """The settings that a strategy begins with, and its budget of rounds."""
    if strategy in (POOLED, LOCAL):
        return benchmark.epochs_experiment(algorithm_of(strategy), seed)
    made = benchmark.experiment(algorithm_of(strategy), federation, seed)
    if strategy != CYCLIC or made.rounds is None:
        return made
    return made.model_copy(update={"rounds": made.rounds * len(federation)})


def fit_strategy(
    strategy: str,
    experiment: Experiment,
    federation: Federation,
    task: Task,
    observer: Observer | None = None,
) -> Fitted:
    """Train a strategy on cut centers."""
    run = train(
        pool(federation) if strategy == POOLED else federation,
        task,
        make_algorithm(experiment),
        rounds=experiment.rounds,
        seed=experiment.seed,
        participation=Cyclic() if strategy == CYCLIC else None,
        evaluate_every=0,
        observer=observer,
    )
    return Fitted(run, strategy)


def pool(federation: Federation) -> Federation:
    """All rows at one client."""
    parts: Keywords = {
        name: _pool_rows(getattr(federation, name)) for name in ("train", "validation", "test")
    }
    return replace(federation, **parts, names=("pooled",), given_importance=None, groups=None)


def _pool_rows(split: Split) -> Split:
    return Split(split.x, split.y, np.array([0, len(split.y)], np.int64))


def _of_client(run: Run, client: int) -> PyTree:
    memory, fresh = run.memories.gather(np.array([client]))
    if fresh[0]:  # a center without rows has never trained
        return {"params": run.message}
    return jax.tree.map(lambda leaf: leaf[0], memory)
