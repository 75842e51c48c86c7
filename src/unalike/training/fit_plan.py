"""Fitting a plan's parts to its clients, before training begins.

    participation   each client's smallest loss, where a strategy compares with it
    stream          the ratio of the error bound's constants, where its weights are the optimal ones
    start           the best of several, where that is asked for

Each is asked of the part itself, so that every door to a training does it.
"""

from __future__ import annotations

from dataclasses import replace

from ..aggregation.base import WeightedSum
from ..algorithms.shared.local_state import keep_state
from ..data.streams import Stream
from ..data.streams.target_importance import Tradeoff
from ..errors import ConfigError
from ..trust.behaviors.colluding_clients import ColludingClients
from ..typing import PyTree
from .execute import execute
from .local_minima import local_minima
from .plan import TrainingPlan
from .restarts import best_start, starts
from .run import Run
from .stream_constants import measure_tradeoff


def fit_plan(plan: TrainingPlan, trained: bool = False) -> TrainingPlan:
    """The plan with parts that know its clients; this may train each client alone, and several starts.

    Args:
        plan: what is to be trained.
        trained: whether some rounds are trained already, so that there is nothing to start from.
    """
    check_restarts(plan)
    fitted = replace(
        plan,
        participation=plan.participation.fit(lambda: local_minima(plan.federation, plan.task, plan.seed)),
    )
    fit_stream(fitted)
    return fitted if trained or plan.restarts == 1 else replace(fitted, initial=_best_start(fitted))


def fit_stream(plan: TrainingPlan) -> None:
    """Let the stream measure what it must know of the clients."""
    each = plan.algorithm.rounds_per_step
    steps = None if plan.rounds is None else -(-plan.rounds // each)

    def tradeoff(stream: Stream) -> Tradeoff:
        return measure_tradeoff(stream, plan.federation, plan.task, plan.seed, steps)

    if plan.stream is not None:
        plan.stream.fit(tradeoff)


def check_restarts(plan: TrainingPlan) -> None:
    """Raise where several starts cannot be compared."""
    if plan.restarts == 1:
        return
    if plan.rounds is None:
        raise ConfigError("restarts are tried for half of the rounds; say how many rounds to train.")
    if not isinstance(plan.aggregator, WeightedSum | ColludingClients | None):
        raise ConfigError(
            "several starts are compared by their losses, which an aggregation rule, a monitor and noise "
            "would bias or hide; leave out restarts or that."
        )


def _best_start(plan: TrainingPlan) -> PyTree:
    """The start whose training, for half of the rounds, ends with the lowest training loss."""
    assert plan.rounds is not None
    trial = replace(
        plan,
        rounds=-(-plan.rounds // 2),
        restarts=1,
        stop_at=None,
        patience=None,
        evaluate_every=0,
        keeper=None,
        observers=(),
    )
    algorithm = keep_state(plan.algorithm, plan.task).prepare(plan.task, plan.federation)

    def attempt(start: PyTree) -> Run:
        return execute(replace(trial, initial=start))

    return best_start(attempt, starts(algorithm, plan.task, plan.seed, plan.restarts))[0]
