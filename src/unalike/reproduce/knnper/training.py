"""What do a global model, fine-tuning and memory reach on the same clients?  (The trainings of the study.)

One client in five joins after training. Nothing is chosen on test rows: lambda is found by leave-one-out on
each client's own rows, and learning rates of fine-tuning on a fifth of the training rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from ...algorithms import Algorithm, FedAvg, FedAvgPlus, Local, LocalWork, Optimizer
from ...core.pytrees import Tree
from ...data import Federation
from ...data.federation import Split
from ...memorization import Personal, memorize
from ...memorization.embedding import embed
from ...memorization.interpolation_weight import scores
from ...memorization.shift import overall
from ...models import Task, linear, mlp
from ...training.run import Run
from ...training.train import train
from ...typing import Bools, Float64s
from .data import CLASSES, label_skew, personal_labels

Measured = dict[str, Float64s]
TUNING_RATES = (0.3, 0.1, 0.03, 0.01)


@dataclass(frozen=True)
class Scale:
    """How large the Gaussian federations are."""

    clients: int = 100
    train: int = 24_000
    test: int = 12_000
    rounds: int = 50

    @property
    def algorithm(self) -> FedAvg:
        """One epoch a round in batches of 32, rate 0.1, a tenth of it after half and three quarters."""
        return FedAvg(work=self.work, optimizer=self.optimizer)

    @property
    def work(self) -> LocalWork:
        """One pass over a client's rows."""
        return LocalWork(epochs=1, batch_size=32)

    @property
    def optimizer(self) -> Optimizer:
        """Plain descent whose rate falls twice."""
        return Optimizer("sgd", 0.1, f"steps:{self.rounds / 2},{0.75 * self.rounds}")


FULL, QUICK = Scale(), Scale(40, 9_600, 4_800, 30)


@cache
def perceptron(*hidden: int, inputs: int = 32) -> Task:
    """A classifier whose last hidden layer is the representation."""
    return Task.classification(mlp(*hidden, input_shape=(inputs,), outputs=CLASSES), CLASSES)


@dataclass(frozen=True)
class Problem:
    """A federation, of which one client in five (`new`) joins after the global model is trained."""

    federation: Federation
    task: Task
    algorithm: FedAvg
    rounds: int
    seed: int

    @property
    def is_new(self) -> Bools:
        """Every fifth client."""
        return np.arange(len(self.federation)) % 5 == 0

    @cached_property
    def old(self) -> Federation:
        """The clients that train."""
        return self.federation.subset(np.flatnonzero(~self.is_new))

    @cached_property
    def fresh(self) -> Federation:
        """The clients that join later."""
        return self.federation.subset(np.flatnonzero(self.is_new))

    @cached_property
    def run(self) -> Run:
        """The global model of the old clients."""
        return self.train(self.algorithm)

    @cached_property
    def new(self) -> Personal:
        """The new clients' memories."""
        return memorize(self.run, self.fresh)

    @cached_property
    def remembered(self) -> Personal:
        """The old clients' memories."""
        return memorize(self.run)

    @cached_property
    def everyone(self) -> Personal:
        """The memories of all clients, old and new."""
        return memorize(self.run, self.federation)

    def train(self, algorithm: Algorithm, rounds: int | None = None, initial: Tree | None = None) -> Run:
        """A training of the old clients that is only looked at afterwards."""
        return train(
            self.old,
            self.task,
            algorithm,
            rounds=self.rounds if rounds is None else rounds,
            seed=self.seed,
            evaluate_every=0,
            initial=initial,
        )


@cache
def skewed(alpha: float, seed: int, scale: Scale) -> Problem:
    """Label skew alone."""
    federation = label_skew(alpha, seed, clients=scale.clients, train=scale.train, test=scale.test)
    return Problem(federation, perceptron(64, 32), scale.algorithm, scale.rounds, seed)


@cache
def renamed(seed: int, scale: Scale) -> Problem:
    """Label skew, and labels that mean different things to different clients."""
    sizes = {"train": scale.train * 5 // 6, "test": scale.test * 5 // 6}
    federation = personal_labels(0.3, seed, clients=scale.clients, **sizes)
    return Problem(federation, perceptron(64, 32), scale.algorithm, scale.rounds, seed)


def global_model(memory: Personal) -> Personal:
    """The same clients without their memory."""
    return memory.changed(shares=0.0)


def percent(memory: Personal) -> float:
    """Accuracy over all clients' test rows, in per cent."""
    return 100 * overall(memory.evaluate())


def gain(memory: Personal) -> float:
    """What memory adds to the global model, in percentage points."""
    return percent(memory) - percent(global_model(memory))


def shared_scores(memory: Personal, grid: Sequence[float]) -> Float64s:
    """Right answers for each lambda if everyone used the same, by leave-one-out on all clients' rows."""
    total = np.zeros(len(grid))
    for client, rule in enumerate(memory.rules):
        rows = memory.trained_rows(client)
        if len(rows.keys) > 1:
            near = rule.ask_others(memory.task, rows.keys, rows.labels, rows.common)
            total += scores(memory.task, near, rows.common, rows.labels, grid)
    return total


# What memory is compared with -------------------------------------------------------------------------------


def tuned_percent(lesson: Problem, epochs: int, rates: Sequence[float] = TUNING_RATES) -> float:
    """FedAvg+: the global model after some passes over a client's rows, at the best of the rates."""

    def measured(federation: Federation, rate: float) -> Measured:
        algorithm = _tuner(lesson.algorithm, epochs, rate)
        return _judged(lesson, federation, lesson.task, algorithm, lesson.run.message)

    return _at_best_rate(lesson.old, measured, rates)


def head_percent(lesson: Problem, epochs: int, rates: Sequence[float] = TUNING_RATES) -> float:
    """FedRep's rule for newcomers: only the last layer descends, on the representation as it is."""
    params = lesson.run.message
    width = params[-1]["w"].shape[1]
    heads = Task.classification(linear(input_shape=(width,), outputs=CLASSES), CLASSES)

    def measured(federation: Federation, rate: float) -> Measured:
        algorithm = _tuner(lesson.algorithm, epochs, rate)
        return _judged(lesson, _represented(lesson, federation), heads, algorithm, params[-1])

    return _at_best_rate(lesson.old, measured, rates)


def local_percent(lesson: Problem) -> float:
    """Every client alone, as long as the federation trained."""
    algorithm = Local(work=lesson.algorithm.work, optimizer=lesson.algorithm.optimizer)
    return 100 * overall(lesson.train(algorithm).evaluate())


def _tuner(algorithm: FedAvg, epochs: int, rate: float) -> FedAvgPlus:
    return FedAvgPlus(work=algorithm.work, optimizer=Optimizer("sgd", rate), tune_epochs=epochs)


def _judged(lesson: Problem, federation: Federation, task: Task, algorithm: FedAvg, params: Tree) -> Measured:
    state = {"params": params, "server": algorithm.server_optimizer.build().init(params)}
    run = train(federation, task, algorithm, rounds=0, seed=lesson.seed, initial=state, evaluate_every=0)
    return run.evaluate()


def _at_best_rate(
    federation: Federation, measured: Callable[[Federation, float], Measured], rates: Sequence[float]
) -> float:
    """The accuracy at the rate that is best where a fifth of the training rows is held out."""
    held_out = federation.with_split(0.2, seed=1)
    found = [overall(measured(held_out, rate)) for rate in rates]
    return 100 * overall(measured(federation, rates[int(np.argmax(found))]))


def _represented(lesson: Problem, federation: Federation) -> Federation:
    def seen(split: Split) -> Split:
        return replace(split, x=embed(lesson.task, lesson.run.message, split.x)[0])

    return replace(federation, train=seen(federation.train), test=seen(federation.test))
