"""Federations, models and losses of the study of client sampling.

Every curve is the loss over all clients' training rows after each round, so that schemes are compared on the
objective itself; cohorts are read back from the record.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unalike.algorithms import Algorithm, FedAvg, LocalWork, Optimizer
from unalike.data import Federation, load
from unalike.data.sources.files import local
from unalike.models import Task, mlp
from unalike.models.recurrent import lstm
from unalike.participation import sampler_registry
from unalike.training.train import train
from unalike.typing import Float64s, Int64s

from ..trainings import Trainings, describe_training

TAIL = 1 / 3
"""The last part of a curve, over which its end is averaged."""
UNBALANCED = np.repeat([100, 250, 500, 750, 1000], [10, 30, 30, 20, 10])
"""Rows of the hundred clients of the CIFAR-10 study."""
STRIDE, EVERY_WINDOW = 5, 1_000_000
"""Characters between two windows of a role, and more windows than any has."""


@dataclass(frozen=True)
class Problem:
    """A federation, a model, and how clients train on it."""

    federation: Federation
    task: Task
    work: LocalWork
    learning_rate: float
    rounds: int
    labels: Int64s
    """The most frequent class of each client."""
    evaluate_every: int = 1
    trainings: Trainings | None = None
    """Where finished ones are kept."""

    @property
    def algorithm(self) -> FedAvg:
        """Plain federated averaging."""
        return FedAvg(work=self.work, optimizer=Optimizer("sgd", self.learning_rate))


@dataclass(frozen=True)
class Curve:
    """What one training run reached after each round, and how many classes each cohort saw."""

    losses: Float64s
    classes: Float64s

    @property
    def end(self) -> float:
        """The mean loss over the last third."""
        return float(self.losses[-self._tail :].mean())

    @property
    def area(self) -> float:
        """The mean loss over the whole run."""
        return float(self.losses.mean())

    @property
    def jitter(self) -> float:
        """The standard deviation of the change from round to round, over the last third."""
        return float(np.diff(self.losses[-self._tail :]).std())

    @property
    def classes_at_end(self) -> float:
        """Classes per round over the last third."""
        return float(self.classes[-self._tail :].mean())

    @property
    def _tail(self) -> int:
        return max(2, int(TAIL * len(self.losses)))


def learn(
    problem: Problem, sampling: str, per_round: int, seed: int, algorithm: Algorithm | None = None
) -> Curve:
    """Train with clients drawn by a scheme; what is finished is not trained again."""
    chosen, kept = algorithm or problem.algorithm, problem.trainings or Trainings()
    decides = {
        **describe_training(problem.federation, problem.task),
        **{"algorithm": repr(chosen), "sampling": sampling, "per_round": per_round},
        **{"rounds": problem.rounds, "every": problem.evaluate_every, "seed": seed},
    }
    both = kept.numbers(decides, lambda: np.concatenate(_curve(problem, sampling, per_round, seed, chosen)))
    losses, classes = np.split(both, [problem.rounds // problem.evaluate_every])
    return Curve(losses, classes)


def _curve(
    problem: Problem, sampling: str, per_round: int, seed: int, algorithm: Algorithm
) -> tuple[Float64s, Float64s]:
    """Losses at evaluations, and classes in every round's cohort."""
    sampler = sampler_registry.make(
        sampling,
        per_round=per_round,
        sizes=problem.federation.train.sizes,
        labels=problem.labels,
        seed=seed,
    )
    run = train(
        replace(problem.federation, test=problem.federation.train),
        problem.task,
        algorithm,
        rounds=problem.rounds,
        seed=seed,
        participation=sampler,
        evaluate_every=problem.evaluate_every,
    )
    classes = [len(np.unique(problem.labels[clients])) for clients in run.record.groups("used").values()]
    return _objective(run.record, problem), np.array(classes, float)


def _objective(record: object, problem: Problem) -> Float64s:
    """sum_i p_i L_i after every round that was evaluated."""
    weights, rounds = problem.federation.importance, range(0, problem.rounds + 1, problem.evaluate_every)
    evaluated = [record.client_metrics(t)["test_loss"] for t in rounds[1:]]  # type: ignore[attr-defined]
    return np.array([float(weights @ losses) for losses in evaluated])


def one_class_each(seed: int, quick: bool, samples: int = 20_000, rounds: int = 150) -> Problem:
    """A hundred clients with one class each, ten per class: MNIST where it is there, else 8x8 digits."""
    real = not quick and local("mnist.npz") is not None
    name, taken = ("mnist", samples) if real else ("digits", None)
    federation = load(
        name, partition="classes:1", clients=100, samples=taken, seed=seed, test_fraction=0.0
    ).with_importance("equal")
    return _problem(
        federation,
        hidden=50 if real else 32,
        work=LocalWork(steps=50 if real else 20, batch_size=50),
        learning_rate=0.01 if real else 0.1,
        rounds=60 if quick else rounds,
    )


def unbalanced_problem(alpha: float, seed: int, quick: bool) -> Problem:
    """A hundred clients of five sizes with Dirichlet labels: CIFAR-10 where it is there, else 8x8 digits."""
    real = not quick and local("cifar10.npz") is not None
    name, shrink = ("cifar10", 2) if real else ("digits", 30)
    federation = load(
        name,
        partition=f"dirichlet:{alpha}",
        clients=100,
        sizes=[max(1, int(size) // shrink) for size in UNBALANCED],
        seed=seed,
        test_fraction=0.0,
    )
    return _problem(federation, 32, LocalWork(steps=20, batch_size=50), 0.05, 40 if quick else 80)


def clouds(clients: int, sizes: str | None, seed: int, rounds: int) -> Problem:
    """Gaussian classes with Dirichlet(0.1) labels, equal or log-normal sizes."""
    federation = load(
        "gaussians:10,32,3",
        partition="dirichlet:0.1",
        clients=clients,
        sizes=sizes,
        samples=100 * clients,
        seed=seed,
        test_fraction=0.0,
    )
    federation = federation if sizes else federation.with_importance("equal")
    return _problem(federation, 32, LocalWork(steps=20, batch_size=50), 0.1, rounds)


def roles(clients: int, importance: str, seed: int, rounds: int, characters: int = 80) -> Problem:
    """Speaking roles of Shakespeare with all they say, and an LSTM that sees some characters before the next
    one; evaluated every tenth round."""
    federation = load(
        f"shakespeare:{characters},{STRIDE},{EVERY_WINDOW}", clients=clients, seed=seed, test_fraction=0.0
    ).with_importance(importance)
    task = Task.classification(lstm(outputs=federation.classes or 1), federation.classes or 1)
    labels, work = np.zeros(clients, np.int64), LocalWork(steps=50, batch_size=64)
    return Problem(federation, task, work, 1.5, rounds, labels, evaluate_every=min(10, rounds))


def _problem(
    federation: Federation, hidden: int, work: LocalWork, learning_rate: float, rounds: int
) -> Problem:
    model = mlp(hidden, input_shape=federation.input_shape, outputs=10)
    task = Task.classification(model, classes=10)
    labels = federation.label_counts().argmax(axis=1)
    return Problem(federation, task, work, learning_rate, rounds, labels)
