"""Federations, client times and policies of the study of asynchronous training.

Clients' times are spread evenly from 1 down to 0.2 in the order of clients; everyone counts the same, and is
judged by the loss on the rows it trained on, so that policies are compared on the objective itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unalike.algorithms import FedAvg, LocalWork, Optimizer
from unalike.data import Federation, load
from unalike.models import Task, cnn_small, linear, mlp
from unalike.theory.asynchrony.objective import (
    Surrogate,
    surrogate,
)
from unalike.theory.asynchrony.planner import (
    aggregations,
)
from unalike.timing import (
    Asynchronous,
    Clients,
    FedBuff,
    FedFix,
    Policy,
    Timing,
    WaitForAll,
)
from unalike.training.run import Run
from unalike.training.train import train
from unalike.typing import Array, Float64s

from ..trainings import Trainings, describe_training

F80 = "spread:80"


def equal(clients: int) -> Clients:
    """Clients that count the same."""
    return Clients(np.full(clients, 1 / clients))


def policy(name: str, hardware: str = F80, weights: str = "corrected") -> Policy:
    """A policy by the name it has in tables."""
    kind, _, number = name.partition("-")
    if kind == "FedFix":
        return FedFix(float(number), hardware=hardware, weights=weights)
    if kind == "FedBuff":
        return FedBuff(int(number), hardware=hardware, weights=weights)
    made = {"async": Asynchronous, "wait-for-all": WaitForAll}[name]
    return made(hardware=hardware, weights=weights)


BATCH = 64
HOPELESS = 1e6
"""A loss from which on a run counts as diverged."""


@dataclass(frozen=True)
class Problem:
    """A federation, a model, and how much clients do in a job."""

    federation: Federation
    task: Task
    local_steps: int = 1
    momentum: float = 0.0
    """Of clients; it begins anew with every job."""
    trainings: Trainings | None = None
    """Where finished ones are kept."""

    def algorithm(self, learning_rate: float, server_learning_rate: float = 1.0) -> FedAvg:
        """Plain federated averaging."""
        return FedAvg(
            work=LocalWork(steps=self.local_steps, batch_size=BATCH),
            optimizer=Optimizer.of(
                "sgd", learning_rate, {"momentum": self.momentum} if self.momentum else None
            ),
            server_optimizer=Optimizer("sgd", server_learning_rate),
        )


@dataclass(frozen=True)
class Pair:
    """Asynchronous training with identical and with corrected weights: every client's loss, and what the
    identical ones minimize."""

    identical: Float64s
    corrected: Float64s
    minimized: Surrogate

    @property
    def gap(self) -> float:
        """By how much correcting weights lowers the true objective."""
        return self.minimized.losses(self.identical)[0] - self.minimized.losses(self.corrected)[0]

    @property
    def orders(self) -> tuple[bool, bool, bool]:
        """Corrected weights have the lower true objective, identical ones the lower surrogate, and corrected
        ones the lower deviation between clients."""
        (true, other), (true_corrected, other_corrected) = (
            self.minimized.losses(losses) for losses in (self.identical, self.corrected)
        )
        uneven, even = (self.minimized.deviations(losses)[0] for losses in (self.identical, self.corrected))
        return true_corrected < true, other < other_corrected, even < uneven


def clouds(
    partition: str, clients: int, rows: int, seed: int, hidden: int = 0, local_steps: int = 1
) -> Problem:
    """Gaussian classes, so many rows for each client; logistic regression, or a hidden layer."""
    federation = load(
        "gaussians:10,32,3",
        partition=partition,
        clients=clients,
        samples=rows * clients,
        seed=seed,
        test_fraction=0.0,
    )
    return make_problem(federation, hidden, local_steps)


def digits(
    partition: str, seed: int, samples: int | None = 10_000, clients: int = 10, local_steps: int = 1
) -> Problem:
    """Images of MNIST (ten thousand, or all), logistic regression."""
    federation = load(
        "mnist", partition=partition, clients=clients, samples=samples, seed=seed, test_fraction=0.0
    )
    return make_problem(federation, 0, local_steps)


def small_pictures(partition: str, seed: int, clients: int = 10, local_steps: int = 1) -> Problem:
    """All images of CIFAR-10, halved to 16 x 16 pixels, logistic regression."""
    federation = load("cifar10", partition=partition, clients=clients, seed=seed, test_fraction=0.0)
    train = replace(federation.train, x=halve_images(federation.train.x))
    return make_problem(replace(federation, train=train, test=train), 0, local_steps)


def pictures(partition: str, seed: int, clients: int = 10, local_steps: int = 1) -> Problem:
    """All images of CIFAR-10, three convolutions and a hidden layer."""
    federation = load("cifar10", partition=partition, clients=clients, seed=seed, test_fraction=0.0)
    model = cnn_small(input_shape=federation.input_shape, outputs=10)
    return replace(make_problem(federation, 0, local_steps), task=Task.classification(model, classes=10))


def halve_images(images: Array) -> Array:
    """The means of all squares of two by two pixels.

    >>> halve_images(np.full((1, 4, 4, 3), 7, np.uint8)).shape
    (1, 2, 2, 3)
    """
    n, height, width, colors = images.shape
    squares = images.reshape(n, height // 2, 2, width // 2, 2, colors)
    return squares.mean(axis=(2, 4), dtype=np.float32).round().astype(images.dtype)


def make_problem(federation: Federation, hidden: int = 0, local_steps: int = 1) -> Problem:
    """Clients that count the same, judged on their training rows."""
    federation = replace(federation.with_importance("equal"), test=federation.train)
    shape = federation.input_shape
    model = mlp(hidden, input_shape=shape, outputs=10) if hidden else linear(input_shape=shape, outputs=10)
    return Problem(federation, Task.classification(model, classes=10), local_steps)


def learn(problem: Problem, timing: Timing, algorithm: FedAvg, until: float, seed: int) -> Run:
    """Train up to a time; everyone takes part."""
    steps = aggregations(timing, Clients(problem.federation.importance, seed), until)
    return train(
        problem.federation, problem.task, algorithm, rounds=steps, timing=timing, seed=seed, evaluate_every=0
    )


def losses_of(run: Run) -> Float64s:
    """Every client's loss in the end; infinite if training diverged."""
    losses = run.record.client_metrics()["test_loss"]
    return np.where(np.isfinite(losses) & (losses < HOPELESS), losses, np.inf)


def losses_at(problem: Problem, timing: Policy, learning_rate: float, until: float, seed: int) -> Float64s:
    """Every client's loss at a time; what is finished is not trained again."""
    algorithm, kept = problem.algorithm(learning_rate), problem.trainings or Trainings()
    decides = {
        **describe_training(problem.federation, problem.task),
        **{"algorithm": repr(algorithm), "timing": repr(timing), "until": until, "seed": seed},
    }
    return kept.numbers(decides, lambda: losses_of(learn(problem, timing, algorithm, until, seed)))


def pair(problem: Problem, learning_rate: float, until: float, seed: int) -> Pair:
    """Asynchronous training with both kinds of weights, the same batches and the same learning rate."""
    policies = [policy("async", weights=kind) for kind in ("identical", "corrected")]
    ends = [losses_at(problem, each, learning_rate, until, seed) for each in policies]
    return Pair(ends[0], ends[1], surrogate(policies[0], Clients(problem.federation.importance)))
