"""The :class:`TrainingPlan`: every part of a training as an object, before anything runs.

    plan = plan_training(federation, task, "fedavg", rounds=50, per_round=10)      names to objects
    run  = run_plan(plan, out="runs/mine")                                         fit, prepare, train

Every door makes one: :func:`unalike.train`, an experiment of the command line, a server with real clients,
and the retraining after a client was forgotten. A plan is changed by `dataclasses.replace`, or by one of the
methods below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..aggregation.base import Aggregator
from ..algorithms import Algorithm
from ..data import Federation
from ..data.streams import Stream
from ..engine import Engine
from ..errors import ConfigError
from ..models import Task
from ..participation import Full, Participation, Remaining, Renormalized
from ..timing import Timing
from ..typing import State
from .early_stopping import StopRule
from .observers import Observer
from .round_keeper import RoundKeeper


class Unlearning(NamedTuple):
    """What is kept, and how sensitivities are bounded.

    Args:
        keep: models that are kept: `full`, `grid:K` or `pruned:PSI`.
        ledger: `full`, `realized` or `reference`, with a declared strong convexity after a colon; `full`, or
            `realized` where clients are drawn, when None.
    """

    keep: str = "full"
    ledger: str | None = None


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """A training as objects.

    Args:
        federation: the clients that train.
        task: the model, its loss and its metrics.
        algorithm: what clients compute and how the server mixes it.
        participation: who takes part in a round.
        timing: when results arrive.
        stream: which rows clients hold in a round; all of them when None.
        aggregator: what the server makes of uploads; their weighted sum, or that of `engine`, when None.
        engine: where it runs, by name or as an object.
        devices: cores to use; all when None.
        seed: same seed, same result.
        rounds: how many rounds; as many as fit before `until` when None.
        until: when the simulated clock stops.
        stop_at: the metric at which training ends early.
        patience: rounds without a better metric after which training ends.
        evaluate_every: rounds between evaluations; about twenty in all when None.
        evaluate_clients: evaluate on at most that many clients.
        evaluate_training: whether clients' losses on training rows are recorded at evaluations, too.
        regret: the rival against whom predictions of arriving rows are judged at the end; none when None.
        checkpoint_every: rounds between checkpoints; about ten in all when None.
        initial: the server's state to start from.
        restarts: random starts of which the best is trained.
        newcomers: clients that join only after training.
        unlearning: what is kept so that clients can be forgotten; nothing when None.
        keep_history: whether every version of the model is kept in memory.
        keeper: is shown every round.
        observers: are called after every round.
    """

    federation: Federation
    task: Task
    algorithm: Algorithm
    participation: Participation
    timing: Timing
    stream: Stream | None = None
    aggregator: Aggregator | None = None
    engine: str | Engine = "local"
    devices: int | None = None
    seed: int = 0
    rounds: int | None = None
    until: float = math.inf
    stop_at: str | StopRule | None = None
    patience: int | None = None
    evaluate_every: int | None = None
    evaluate_clients: int = 10_000
    evaluate_training: bool = False
    regret: str | None = None
    checkpoint_every: int | None = None
    initial: State | None = None
    restarts: int = 1
    newcomers: Federation | None = None
    unlearning: Unlearning | None = None
    keep_history: bool = False
    keeper: RoundKeeper | None = None
    observers: tuple[Observer, ...] = ()

    def __post_init__(self) -> None:
        if self.rounds is not None and self.rounds < 0:
            raise ConfigError(f"rounds must not be negative, but is {self.rounds}.")
        if self.rounds is None and self.until == math.inf:
            raise ConfigError("say how many rounds to train, or until when.")

    def without(self, clients: Sequence[int]) -> TrainingPlan:
        """The same training, in which these clients, who keep their numbers, never take part again."""
        if not isinstance(self.participation, Full | Renormalized):
            raise ConfigError("clients are left out where all take part, or so many are drawn uniformly.")
        return replace(self, participation=Remaining(self.participation, list(clients)))

    def on(self, engine: str | Engine) -> TrainingPlan:
        """The same training elsewhere; an engine that is an object has an aggregator and a stream of its
        own."""
        if isinstance(engine, str):
            return replace(self, engine=engine)
        return replace(self, engine=engine, aggregator=None, stream=engine.setting.stream)

    @property
    def by_rounds(self) -> bool:
        """Whether rounds follow each other with everyone in step, so that draws are those of the sampler."""
        return self.stream is None and self.timing.traits.by_cohort
