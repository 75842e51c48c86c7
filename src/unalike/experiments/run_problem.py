"""An unlearning problem that is a run of one's own: its settings, with another length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import jax.numpy as jnp
import numpy as np

from ..aggregation.base import Aggregator
from ..algorithms import FedAvg
from ..data import Federation
from ..training.observers import Observer
from ..training.plan import TrainingPlan
from ..typing import Params
from .build import make_algorithm, make_task
from .config import Experiment
from .retraining import without_history
from .run import plan_experiment
from .unlearning_schemes import UnlearningProblem
from .watermark_check import is_right, select_rows_with_trigger


@dataclass(frozen=True)
class RunProblem(UnlearningProblem):
    """What all schemes share, as the settings of a run say."""

    experiment: Experiment = field(default_factory=Experiment)
    patience: int | None = None
    observer: Observer | None = None

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        rows: Federation,
        *,
        rounds: int | None,
        stop_at: str | None,
        patience: int | None = None,
        observer: Observer | None = None,
    ) -> RunProblem:
        """From settings and rows.

        Args:
            experiment: the run's settings; what it tracks elsewhere is not tracked again.
            rows: its clients.
            rounds: rounds at most.
            stop_at: the metric at which training ends early.
            patience: rounds without a better metric after which training ends.
            observer: called after every round.
        """
        task = make_task(experiment, rows)
        algorithm = make_algorithm(experiment).prepare(task, rows)
        assert isinstance(algorithm, FedAvg), "unlearning has refused everything else"
        assert rounds is not None, "rounds are synchronous"
        return cls(
            *(rows, task, algorithm, experiment.per_round, stop_at, rounds, experiment.seed),
            experiment=experiment.model_copy(update={"track": None}),
            patience=patience,
            observer=observer,
        )

    def plan(self, federation: Federation, aggregator: Aggregator | None = None) -> TrainingPlan:
        """The run's plan on these rows, of which nothing is written."""
        plan = without_history(plan_experiment(self.experiment, federation, self.task, self.observer))
        return replace(
            plan,
            rounds=self.rounds,
            stop_at=self.stop_at,
            patience=self.patience,
            aggregator=aggregator or plan.aggregator,
        )

    def score(self, params: Params, clients: Sequence[int]) -> float:
        """Accuracy on the training rows of some clients, or the mean loss where there are no classes."""
        rows = self.federation.train.take(list(clients))
        if self.federation.classes:
            return float(is_right(self.task, params, rows).mean())
        outputs = self.task.model.apply(params, jnp.asarray(rows.x))
        return float(np.mean(np.asarray(self.task.sample_loss(outputs, jnp.asarray(rows.y)), np.float64)))

    def measure_watermark(self, params: Params, clients: Sequence[int]) -> float | None:
        """Accuracy on the rows of some clients that have a trigger; None where there are none."""
        rows = select_rows_with_trigger(self.experiment, self.federation, clients)
        return None if rows is None else float(is_right(self.task, params, rows).mean())
