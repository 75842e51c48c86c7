"""Gaussian federations of the study on memorization.

Rows are drawn around modes of classes, x = center of (class, mode) + noise, and dealt by one Dirichlet draw
per label, with the same fractions for training and test rows:

- `label_skew`: clients have different classes, and the same rule;
- `personal_labels`: every client also renames each (class, mode) with chance 0.2 to a random class,
  so that the same x means different things to different clients.

One client in five joins after training. Nothing is chosen on test rows: lambda is found by leave-one-out on
each client's own rows, and learning rates of fine-tuning on a fifth of the training rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from unalike.algorithms import Algorithm, FedAvg, FedAvgPlus, Local, LocalWork, Optimizer
from unalike.core.random import generator
from unalike.data import Federation
from unalike.data.allocation import proportions
from unalike.data.federation import Split
from unalike.memorization import Personal, memorize
from unalike.memorization.embedding import embed
from unalike.memorization.interpolation_weight import scores
from unalike.models import Task, linear, mlp
from unalike.training.run import Run
from unalike.training.train import train
from unalike.typing import Bools, Float32s, Float64s, Int64s, Params, State
from unalike_studies.knnper.shift import overall

CLASSES, DIMENSION = 10, 32
FEWEST = 10
"""Clients with fewer training rows are left out."""


class Cloud(NamedTuple):
    """Rows with their class and mode; the first `train` of them are for training."""

    x: Float32s
    classes: Int64s
    modes: Int64s
    train: int


def cloud(modes: int, spread: float, train: int, test: int, seed: int) -> Cloud:
    """Gaussian modes of classes, centers N(0, spread^2), noise N(0, 1)."""
    rng = generator(seed, "cloud")
    centers = spread * rng.normal(size=(CLASSES, modes, DIMENSION))
    classes = rng.integers(0, CLASSES, train + test)
    which = rng.integers(0, modes, train + test)
    x = centers[classes, which] + rng.normal(size=(train + test, DIMENSION))
    return Cloud(x.astype(np.float32), classes, which, train)


def label_skew(
    alpha: float, seed: int, *, clients: int = 100, train: int = 24_000, test: int = 12_000
) -> Federation:
    """Six modes a class, spread 0.8; each label dealt by Dirichlet(alpha)."""
    drawn = cloud(6, 0.8, train, test, seed)
    return _federation(drawn, drawn.classes, _partition(drawn, alpha, clients, seed))


def two_laws(
    alpha: float, seed: int, *, clients: int = 100, train: int = 24_000, test: int = 12_000
) -> tuple[Federation, Federation]:
    """The same rows dealt twice, to the same clients: before and after a shift (nobody is left out)."""
    drawn = cloud(6, 0.8, train, test, seed)
    first, second = (_partition(drawn, alpha, clients, seed, time) for time in range(2))
    return tuple(_federation(drawn, drawn.classes, dealt, 0) for dealt in (first, second))  # type: ignore[return-value]


def personal_labels(
    alpha: float, seed: int, *, clients: int = 100, train: int = 20_000, test: int = 10_000, rate: float = 0.2
) -> Federation:
    """Four modes a class, spread 1.2; every client renames a part of the modes."""
    drawn = cloud(4, 1.2, train, test, seed)
    rng = generator(seed, "names")
    owners = _partition(drawn, alpha, clients, seed)
    shape = (clients, CLASSES, 4)
    own = np.broadcast_to(np.arange(CLASSES)[:, None], shape)
    names = np.where(rng.random(shape) < rate, rng.integers(0, CLASSES, shape), own)
    return _federation(drawn, names[owners, drawn.classes, drawn.modes], owners)


def _partition(drawn: Cloud, alpha: float, clients: int, seed: int, time: int = 0) -> Int64s:
    """The client of every row: one Dirichlet draw per label, the same for training and test rows."""
    rng = generator(seed, "deal", time)
    shares = proportions(alpha, CLASSES, clients, rng).cumsum(axis=1)
    draws = rng.random(len(drawn.x))
    return np.minimum((draws[:, None] > shares[drawn.classes]).sum(axis=1), clients - 1)


def _federation(drawn: Cloud, labels: Int64s, owners: Int64s, fewest: int = FEWEST) -> Federation:
    """Clients with enough training rows and at least one test row (all of them for `fewest` = 0)."""
    number = int(owners.max()) + 1
    parts = [slice(0, drawn.train), slice(drawn.train, None)]
    train, test = (_split(drawn.x[part], labels[part], owners[part], number) for part in parts)
    nothing = Split(train.x[:0], train.y[:0], np.zeros(number + 1, np.int64))
    whole = Federation(train, nothing, test, CLASSES)
    stay = (train.sizes >= fewest) & (test.sizes >= min(fewest, 1))
    return whole if stay.all() else whole.subset(np.flatnonzero(stay))


def _split(x: Float32s, y: Int64s, owners: Int64s, clients: int) -> Split:
    order = np.argsort(owners, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=clients))]).astype(np.int64)
    return Split(x[order], y[order].astype(np.int32), offsets)


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

    def train(self, algorithm: Algorithm, rounds: int | None = None, initial: State | None = None) -> Run:
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
def skewed_problem(alpha: float, seed: int, scale: Scale) -> Problem:
    """Label skew alone."""
    federation = label_skew(alpha, seed, clients=scale.clients, train=scale.train, test=scale.test)
    return Problem(federation, perceptron(64, 32), scale.algorithm, scale.rounds, seed)


@cache
def renamed_problem(seed: int, scale: Scale) -> Problem:
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


def tuned_percent(problem: Problem, epochs: int, rates: Sequence[float] = TUNING_RATES) -> float:
    """FedAvg+: the global model after some passes over a client's rows, at the best of the rates."""

    def measured(federation: Federation, rate: float) -> Measured:
        algorithm = _tuner(problem.algorithm, epochs, rate)
        return _evaluate(problem, federation, problem.task, algorithm, problem.run.message)

    return _at_best_rate(problem.old, measured, rates)


def head_percent(problem: Problem, epochs: int, rates: Sequence[float] = TUNING_RATES) -> float:
    """FedRep's rule for newcomers: only the last layer descends, on the representation as it is."""
    params = problem.run.message
    width = params[-1]["w"].shape[1]
    heads = Task.classification(linear(input_shape=(width,), outputs=CLASSES), CLASSES)

    def measured(federation: Federation, rate: float) -> Measured:
        algorithm = _tuner(problem.algorithm, epochs, rate)
        return _evaluate(problem, _represent(problem, federation), heads, algorithm, params[-1])

    return _at_best_rate(problem.old, measured, rates)


def local_percent(problem: Problem) -> float:
    """Every client alone, as long as the federation trained."""
    algorithm = Local(work=problem.algorithm.work, optimizer=problem.algorithm.optimizer)
    return 100 * overall(problem.train(algorithm).evaluate())


def _tuner(algorithm: FedAvg, epochs: int, rate: float) -> FedAvgPlus:
    return FedAvgPlus(work=algorithm.work, optimizer=Optimizer("sgd", rate), tune_epochs=epochs)


def _evaluate(
    problem: Problem, federation: Federation, task: Task, algorithm: FedAvg, params: Params
) -> Measured:
    state = State({"params": params, "server": algorithm.server_optimizer.build().init(params)})
    run = train(federation, task, algorithm, rounds=0, seed=problem.seed, initial=state, evaluate_every=0)
    return run.evaluate()


def _at_best_rate(
    federation: Federation, measured: Callable[[Federation, float], Measured], rates: Sequence[float]
) -> float:
    """The accuracy at the rate that is best where a fifth of the training rows is held out."""
    held_out = federation.with_split(0.2, seed=1)
    found = [overall(measured(held_out, rate)) for rate in rates]
    return 100 * overall(measured(federation, rates[int(np.argmax(found))]))


def _represent(problem: Problem, federation: Federation) -> Federation:
    def seen(split: Split) -> Split:
        return replace(split, x=embed(problem.task, problem.run.message, split.x)[0])

    return replace(federation, train=seen(federation.train), test=seen(federation.test))
