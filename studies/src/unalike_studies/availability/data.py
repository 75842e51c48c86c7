"""Intermittent clients, strategies and curves of the study of CA-Fed.

A hundred clients of sixty rows with a linear softmax model. Inputs and the teacher that labels them are the
same for all clients, or each client has its own mean of inputs and a teacher of its own near the common one;
half of the clients are there nine times of ten, a quarter one time of ten at random, and a quarter one time
of ten in long runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unalike.algorithms import FedAvg, LocalWork, Optimizer
from unalike.core.random import generator
from unalike.data import Federation
from unalike.models import Task, linear
from unalike.participation import (
    Availability,
    Intermittent,
    Known,
    Strategy,
    availability_registry,
    strategy_registry,
)
from unalike.training.local_minima import local_minima
from unalike.training.run import Run
from unalike.training.train import train
from unalike.typing import Float64s, Int64s

CLIENTS, ROWS, TESTED, FEATURES, CLASSES = 100, 60, 40, 60, 10
SCALES = np.arange(1, FEATURES + 1) ** -0.6
"""The inputs' spread, as in LEAF's synthetic data."""
RIDGE = 1e-2
FULL_BATCHES = LocalWork(epochs=2, batch_size=0)
"""Two steps on all rows, so that strategies differ by who takes part and by nothing else."""


@dataclass(frozen=True)
class Problem:
    """A federation and its linear model."""

    federation: Federation
    task: Task

    @cached_property
    def minima(self) -> Float64s:
        """The loss that each client could reach alone."""
        return local_minima(self.federation, self.task)


@dataclass(frozen=True)
class Rates:
    """Learning rates of the clients and of the server."""

    client: float
    server: float


@dataclass(frozen=True)
class Accuracies:
    """The accuracy at every evaluation."""

    accuracy: Float64s

    @property
    def end(self) -> float:
        """Mean accuracy over the last tenth, in percentage points."""
        return 100 * float(self.accuracy[-max(1, len(self.accuracy) // 10) :].mean())

    @property
    def time_average(self) -> float:
        """Mean accuracy over all rounds, in percentage points."""
        return 100 * float(self.accuracy.mean())

    @property
    def deviation(self) -> float:
        """Standard deviation over the second half, in percentage points."""
        return 100 * float(self.accuracy[len(self.accuracy) // 2 :].std())


@dataclass(frozen=True)
class Curve(Accuracies):
    """The accuracy of all test rows together at every evaluation, and the run behind it."""

    run: Run

    @property
    def client_accuracy(self) -> Float64s:
        """The mean over clients of each one's accuracy, at every evaluation."""
        rounds = self.run.metrics()
        evaluated = rounds["round"][np.isfinite(rounds["test_accuracy"])][1:]
        return np.array(
            [np.nanmean(self.run.record.client_metrics(int(t))["test_accuracy"]) for t in evaluated]
        )

    def excluded(self, groups: Int64s) -> Float64s:
        """The mean number of excluded clients a round, by group."""
        rounds = list(self.run.record.groups("excluded").values())
        counts = [np.bincount(groups[clients], minlength=int(groups.max()) + 1) for clients in rounds]
        return np.mean(counts, axis=0)


def make_teacher_problem(deviation: float, seed: int) -> Problem:
    """Clients with inputs of their own and teachers `deviation` around a common one; 0 makes all alike."""
    rng = generator(seed, "teacher")
    common = rng.normal(size=(CLASSES, FEATURES))
    clients = {}
    for k in range(CLIENTS):
        teacher = common + deviation * rng.normal(size=common.shape)
        mean = rng.normal(size=FEATURES) if deviation else 0.0
        x = (mean + SCALES * rng.normal(size=(ROWS + TESTED, FEATURES))).astype(np.float32)
        y = (x @ teacher.T).argmax(axis=1)
        clients[str(k)] = {"train": (x[:ROWS], y[:ROWS]), "test": (x[ROWS:], y[ROWS:])}
    return make_problem(Federation.from_clients(clients, classes=CLASSES))


def make_problem(federation: Federation) -> Problem:
    """A federation with a ridge-regularized linear softmax model."""
    model = linear(input_shape=federation.input_shape, outputs=federation.classes or 1)
    task = Task.classification(model, federation.classes or 1, RIDGE)
    return Problem(federation, task)


def population(correlation: float = 0.9, clients: int = CLIENTS, seed: int = 0) -> Availability:
    """The three groups: often there, rarely there, rarely there in runs."""
    return availability_registry.make(f"groups:0.4,{correlation},0.01", clients=clients, seed=seed)


def strategy(name: str, problem: Problem, rounds: int) -> Strategy:
    """A strategy that knows what clients could reach alone."""
    return strategy_registry.make(name, minima=problem.minima, per_round=None, rounds=rounds)


def learn(
    problem: Problem,
    name: str,
    rates: Rates,
    rounds: int,
    seed: int,
    availability: Availability | None = None,
    evaluate_every: int = 1,
    work: LocalWork = FULL_BATCHES,
    momentum: float = 0.0,
) -> Curve:
    """Train with a strategy that knows the true availability; the same seed gives the same trace. Clients'
    momentum begins anew in every round."""
    chains = availability or population(clients=len(problem.federation), seed=seed)
    known = Known(chains.active, chains.correlation)
    run = train(
        problem.federation,
        problem.task,
        FedAvg(
            work=work,
            optimizer=Optimizer.of("sgd", rates.client, {"momentum": momentum} if momentum else None),
            server_optimizer=Optimizer("sgd", rates.server),
        ),
        rounds=rounds,
        seed=seed,
        participation=Intermittent(chains, strategy(name, problem, rounds), beliefs=known),
        evaluate_every=evaluate_every,
    )
    accuracy = run.metrics()["test_accuracy"][1:]
    return Curve(accuracy[np.isfinite(accuracy)], run)
