"""Reference models of an audit, trained on other halves of the rows.

    cohort   every reference model is a client of one federation that trains alone; the engine trains them
             together, and stops when they fit their rows as well as the target does
    runs     the experiment itself again for each, every client with another half of its rows; what clients
             with models of their own need

A row is inside of every second model, drawn at random, so that attacks see it learned and not learned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..algorithms import Local, LocalWork, Optimizer
from ..core import pytrees
from ..core.random import generator
from ..data import Federation
from ..engine.row_outputs import model_outputs
from ..errors import ConfigError, unknown
from ..models import Task
from ..privacy.audit.signals import Signals
from ..training.early_stopping import StopRule
from ..training.run import Run
from ..training.train import train
from ..typing import Array, Bools, Int64s, Params
from .audit_rows import AuditRows, deal_again, run_outputs, signals_of
from .config import Experiment
from .run import run_experiment

KINDS = ("cohort", "runs")
MOST_PASSES = 200
"""Passes over its rows that a reference model of a cohort takes, at most."""


Seen = Callable[[Array, Bools], Array]
"""What strangers see of a reference model's outputs, given the rows that it was trained on."""


def as_they_are(outputs: Array, inside: Bools) -> Array:
    """Outputs that nothing defends."""
    return outputs


class References(NamedTuple):
    """Reference models: what they say of every row, and which rows they were trained on."""

    signals: tuple[Signals, ...]
    inside: Bools
    kind: str
    note: str


def choose_kind(kind: str | None, experiment: Experiment | None, personal: bool, own: float = 0.0) -> str:
    """The kind of reference models that is asked for, or that suits clients with `personal` models or not;
    raises where it cannot be had. `own` is the part of reference rows that the method knows by their places,
    which other halves of the rows would mix up."""
    again = experiment is not None and experiment.behavior is None
    if kind is None:
        return "runs" if personal and again else "cohort"
    if kind not in KINDS:
        raise unknown("kind of reference models", kind, KINDS)
    if kind == "runs" and own:
        raise ConfigError("a method with reference rows of its own is compared with a cohort; use cohort.")
    if kind == "runs" and not again:
        raise ConfigError(
            "only runs of `unalike run` whose clients are all honest can be trained again; use cohort."
        )
    return kind


def draw_halves(owners: Int64s, models: int, seed: int) -> Bools:
    """Which rows every model is trained on: a random half of every client's.

    >>> draw_halves(np.array([0, 0, 1, 1]), 3, 0).sum(axis=1).tolist()
    [2, 2, 2]
    """
    inside = np.zeros((models, len(owners)), bool)
    for model in range(models):
        draws = generator(seed, "audit halves of rows", model).random(len(owners))
        order = np.lexsort([draws, owners])
        counts = np.unique(owners, return_counts=True)[1]
        place = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        inside[model, order] = place < np.repeat(-(-counts // 2), counts)
    return inside


def train_references(
    run: Run,
    experiment: Experiment | None,
    rows: AuditRows,
    models: int,
    target_loss: float,
    seed: int = 0,
    seen: Seen = as_they_are,
) -> References:
    """Reference models of a run on random halves of these rows: the `experiment` again, if one is given, or
    a cohort; `target_loss` is that of the run on its training rows."""
    inside, setting = draw_halves(rows.owners, models, seed), run.setting
    if experiment is not None:
        return _again(experiment, setting.federation, setting.task, rows, inside, seen)
    optimizer = getattr(setting.algorithm, "optimizer", Optimizer())
    batch_size = setting.algorithm.work.batch_size
    return train_cohort(setting.task, rows, inside, target_loss, optimizer, batch_size, seed, seen=seen)


def train_cohort(
    task: Task,
    rows: AuditRows,
    inside: Bools,
    target_loss: float,
    optimizer: Optimizer,
    batch_size: int,
    seed: int = 0,
    most: int = MOST_PASSES,
    seen: Seen = as_they_are,
) -> References:
    """All reference models as one federation of clients that train alone."""
    models, places = np.nonzero(inside)
    classes = None if rows.classes(task) is None else int(rows.y.max()) + 1
    cohort = Federation.from_owners(
        rows.x, rows.y, models, rows=places, clients=len(inside), classes=classes, seed=seed
    )
    alone = Local(work=LocalWork(epochs=1, batch_size=batch_size), optimizer=optimizer)
    stop = StopRule("train_loss", target_loss, 1)
    run = train(cohort, task, alone, rounds=most, seed=seed, stop_at=stop)
    memories, _ = run.memories.gather(np.arange(len(inside)))
    signals = tuple(_of_model(task, memories["params"], k, rows, inside[k], seen) for k in range(len(inside)))
    note = (
        f"{len(inside)} reference models were trained together, each {run.rounds} passes over "
        f"{int(inside[0].sum()):,} rows."
    )
    if run.rounds == most:
        note += f" They do not fit their rows as well as the model fits its own (loss {target_loss:.3g})."
    return References(signals, inside, "cohort", note)


def _of_model(task: Task, params: Params, number: int, rows: AuditRows, inside: Bools, seen: Seen) -> Signals:
    outputs = model_outputs(task, pytrees.row(params, number), rows.x)
    return signals_of(task, seen(outputs, inside), rows.y)


def _again(
    experiment: Experiment, federation: Federation, task: Task, rows: AuditRows, inside: Bools, seen: Seen
) -> References:
    found = []
    for number, half in enumerate(inside):
        words = {"seed": experiment.seed + number + 1, "unseen": 0.0, "unlearning": None, "evaluate_every": 0}
        once = experiment.model_copy(update=words)
        run = run_experiment(once, federation=deal_again(federation, rows, half), task=task)
        found.append(signals_of(task, seen(run_outputs(run, rows), half), rows.y))
    note = f"The experiment was trained again {len(inside)} times, with other halves of every client's rows."
    return References(tuple(found), inside, "runs", note)
