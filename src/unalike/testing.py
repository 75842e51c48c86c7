"""The algorithm contract: checks for built-in algorithms and for yours.

:func:`check_algorithm` is to Unalike what `check_estimator` is to scikit-learn: it runs any algorithm, ours
or a user's, through the invariants that the training loop, the engines and the run folder rely on.

    unalike.testing.check_algorithm(MyAlgorithm())
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from .algorithms import Algorithm, LocalWork
from .core import pytrees
from .core.random import generator
from .data import Federation
from .engine import LocalEngine, Setting
from .errors import UnalikeError
from .models import Batch, Task, linear
from .participation import Cohort, Participation, RoundContext
from .runs import load_tensors, restore, save_tensors
from .timing import Synchronous, Timing
from .training.run import Run
from .training.train import train
from .typing import PyTree

TOLERANCE = 1e-4
"""How far two ways of computing the same thing may differ in single precision."""


class ContractError(UnalikeError):
    """An algorithm that breaks a promise; the message names the promise and shows by how much."""


class Bench:
    """The small problem on which an algorithm is checked, and the runs it needs."""

    def __init__(
        self, algorithm: Algorithm, federation: Federation | None, task: Task | None, timing: Timing
    ) -> None:
        self.algorithm = algorithm
        self.federation = federation or example_federation()
        self.task = task or example_task(self.federation)
        self.timing = timing

    def run(
        self, algorithm: Algorithm | None = None, rounds: int = 3, judged: bool = False, **options: Any
    ) -> Run:
        """A short training; only where it is `judged` are there test rows, for evaluation costs time."""
        federation = options.pop("federation", self.federation)
        if not judged:
            nothing = federation.test.take([])
            nobody = replace(nothing, offsets=np.zeros(len(federation) + 1, np.int64))
            federation = replace(federation, test=nobody, validation=nobody)
        options = {"rounds": rounds, "seed": 1, "timing": self.timing, **options}
        return train(federation, self.task, algorithm or self.algorithm, **options)

    def with_work(self, **work: Any) -> Algorithm:
        """The algorithm with another amount of local work."""
        return replace(self.algorithm, work=LocalWork(**work))


Check = Callable[[Bench], bool | None]
"""Raises for a broken promise; False where the method does not make it."""


def check_algorithm(
    algorithm: Algorithm,
    *,
    federation: Federation | None = None,
    task: Task | None = None,
    timing: Timing | None = None,
    skip: Iterable[str] = (),
) -> list[str]:
    """Run every check and return the names of those that applied; the first broken promise raises
    :class:`ContractError`.

    `skip` leaves out checks that a method does not claim, such as "order of clients" for one whose clients
    draw random numbers. `federation`, `task` and `timing` replace the small problem for methods that need a
    special one.
    """
    bench = Bench(algorithm, federation, task, timing or Synchronous())
    chosen = {name: check for name, check in CHECKS.items() if name not in set(skip)}
    return [name for name, check in chosen.items() if check(bench) is not False]


def example_federation(clients: int = 5, classes: int = 3, dimension: int = 4) -> Federation:
    """A few clients of unequal sizes whose labels follow different linear rules."""
    rng = generator(7, "contract")
    rules = rng.normal(size=(clients, dimension, classes))
    data = {}
    for i in range(clients):
        x = rng.normal(size=(8 + 3 * i, dimension)).astype(np.float32)
        data[f"client {i}"] = (x, np.argmax(x @ rules[i], axis=1).astype(np.int32))
    return Federation.from_clients(data, classes=classes, seed=7)


def example_task(federation: Federation) -> Task:
    """Logistic regression."""
    outputs = federation.classes or 1
    model = linear(input_shape=federation.input_shape, outputs=outputs)
    return Task.classification(model, outputs) if federation.classes else Task.regression(model)


def same_seed(bench: Bench) -> None:
    """The same seed gives the same bytes."""
    one, other = (bench.run(rounds=2, per_round=3) for _ in range(2))
    _require("same seed, same bytes", pytrees.largest_difference(everything(one), everything(other)), 0.0)


def order_of_clients(bench: Bench) -> bool | None:
    """Renumbering the clients does not change the server's state (full batches, so that nothing is drawn)."""
    algorithm = bench.with_work(steps=2, batch_size=0)
    if not algorithm.has_server:
        return False
    backwards = bench.federation.subset(np.arange(len(bench.federation))[::-1])
    straight, turned = (bench.run(algorithm, federation=f) for f in (bench.federation, backwards))
    gap = pytrees.largest_difference(straight.message, turned.message)
    _require("the order of clients does not matter", gap, TOLERANCE)
    return None


def no_step_no_change(bench: Bench) -> bool | None:
    """With a learning rate of zero, every client predicts as at the start: constant models stay constant."""
    optimizer = getattr(bench.algorithm, "optimizer", None)
    if optimizer is None:
        return False
    frozen: Any = {"optimizer": replace(optimizer, learning_rate=0.0)}
    run = bench.run(replace(bench.algorithm, **frozen), judged=True, evaluate_every=1)
    losses = run.metrics()["test_loss"]
    _require("a learning rate of zero changes nothing", float(np.ptp(losses)), TOLERANCE)
    return None


def one_client_is_local_training(bench: Bench) -> bool | None:
    """A federation of one client ends where that client's own descent ends, where the method says so."""
    algorithm = bench.algorithm
    trains_to_predict = algorithm.evaluation_work.steps != 0
    if not algorithm.equals_local_training or trains_to_predict:
        return False
    alone = bench.federation.subset([0])
    run = bench.run(bench.with_work(steps=3, batch_size=0), 1, federation=alone)
    gap = float(np.abs(run.evaluate("train")["loss"] - _loss_after_descent(bench, alone, 3)).max())
    _require("one client is local training", gap, TOLERANCE)
    return None


def state_survives_saving(bench: Bench) -> None:
    """Saving the state and loading it back changes no bit, and training goes on from it as before."""
    run = bench.run(rounds=2, per_round=3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.safetensors"
        save_tensors(path, run.state)
        loaded = restore(run.state, load_tensors(path)[0])
    _require("the state survives saving", pytrees.largest_difference(run.state, loaded), 0.0)
    on, again = (bench.run(rounds=1, per_round=3, initial=state) for state in (run.state, loaded))
    _require("training goes on from a loaded state", pytrees.largest_difference(on.state, again.state), 0.0)


def clients_keep_to_themselves(bench: Bench) -> bool | None:
    """What one client does is the same when all others' rows are spoilt."""
    if not bench.algorithm.has_server:
        return False
    pair = (bench.federation, _spoilt(bench.federation))
    clean, spoilt = (bench.run(rounds=2, federation=f, participation=_Only(0)) for f in pair)
    _require("no client sees another's data", pytrees.largest_difference(clean.state, spoilt.state), 0.0)
    return None


def every_engine(bench: Bench) -> None:
    """All engines, with data resident or gathered, on one core or all, give the same answer."""
    # A cohort like those above, so that nothing is compiled again; what is not compiled is slow.
    reference = everything(bench.run(rounds=2, per_round=3))
    for other in (bench.run(rounds=2, per_round=3, engine="debug"), _run_bench(bench)):
        gap = pytrees.largest_difference(reference, everything(other))
        _require("every engine gives the same answer", gap, TOLERANCE)


CHECKS: dict[str, Check] = {
    "same seed": same_seed,
    "order of clients": order_of_clients,
    "no step no change": no_step_no_change,
    "one client is local training": one_client_is_local_training,
    "state survives saving": state_survives_saving,
    "clients keep to themselves": clients_keep_to_themselves,
    "every engine": every_engine,
}


def everything(run: Run) -> PyTree:
    """The server's state and what all clients remember."""
    return {"state": run.state, "memory": run.memories.tensors()}


class _Only(Participation):
    """One client alone, every round."""

    def __init__(self, client: int) -> None:
        self.client = client

    def cohort(self, turn: RoundContext) -> Cohort:
        return Cohort(np.array([self.client]), np.ones(1))


def _spoilt(federation: Federation) -> Federation:
    x = np.array(federation.train.x)
    x[federation.train.owners != 0] = np.nan if np.issubdtype(x.dtype, np.floating) else 0
    return replace(federation, train=replace(federation.train, x=x))


def _run_bench(bench: Bench) -> Run:
    ready = bench.algorithm.prepare(bench.task, bench.federation)
    setting = Setting(bench.federation, bench.task, ready, 1, devices=1)
    return bench.run(rounds=2, judged=True, per_round=3, engine=LocalEngine(setting, resident=False))


def _loss_after_descent(bench: Bench, federation: Federation, steps: int) -> float:
    """The training loss after full-batch steps of the algorithm's optimizer, written without any
    federation."""
    batch = Batch.of(*federation.train.client(0))
    params = bench.run(rounds=0, federation=federation).state["params"]
    optimizer = bench.algorithm.optimizer.build()  # type: ignore[attr-defined]
    memory = optimizer.init(params)
    for _ in range(steps):
        updates, memory = optimizer.update(jax.grad(bench.task.loss)(params, batch), memory, params)
        params = pytrees.add(params, updates)
    return float(bench.task.losses(params, batch.x, batch.y).mean())


def _require(promise: str, gap: float, limit: float) -> None:
    if not gap <= limit:
        raise ContractError(f"promise broken: {promise} (differs by {gap:.3g}, {limit:g} is allowed).")
