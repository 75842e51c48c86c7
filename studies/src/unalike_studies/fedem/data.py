"""Clients of the study of FedEM.

The synthetic mixture with as many fresh test rows as one likes, because its truth is known, so that even
small clients are judged well and the best possible predictor is known too; and real digits whose labels are
dealt in groups, which makes every client a mixture by construction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unalike.algorithms import Algorithm, FedAvg, FedEM, LocalWork, Optimizer, algorithm_registry
from unalike.core.random import generator
from unalike.data import Federation, Split, load
from unalike.data.sources.files import local
from unalike.data.sources.mixture import Mixture, draw_mixture
from unalike.models import Task, linear, mlp
from unalike.training.run import Run
from unalike.training.train import train
from unalike.typing import Float64s, PyTree
from unalike_studies.theory.mixtures.em_oracle import Logistic, MixtureProblem

from ..shared.summaries import Score, score, score_of

BATCH = 128
DIMENSION, CLIENTS = 10, 20
NOISE, WEIGHTS = np.polynomial.hermite_e.hermegauss(21)
"""Points and weights for means over standard normal noise."""


@dataclass(frozen=True)
class Problem:
    """Clients, a model and how long they train."""

    federation: Federation
    task: Task
    rounds: int
    truth: Mixture | None = None

    def algorithm(self, name: str, rate: float, rounds: int | None = None, **options: Any) -> Algorithm:
        """A method by name: one pass a round, and steps that are cut to a tenth twice."""
        length = rounds or self.rounds
        schedule = options.pop("schedule", f"steps:{length // 2},{3 * length // 4}")
        optimizer = Optimizer("sgd", rate, schedule)
        made = algorithm_registry.make(name, work=LocalWork(epochs=1, batch_size=BATCH), optimizer=optimizer)
        return replace(made, **options)

    def learn(self, algorithm: Algorithm, rounds: int | None = None, **options: Any) -> Run:
        """Train, and evaluate only in the end."""
        length = self.rounds if rounds is None else rounds
        settings: dict[str, Any] = {
            "rounds": length,
            "seed": 1,
            "evaluate_every": 0,
            **options,
        }
        return train(self.federation, self.task, algorithm, **settings)

    def held_out(self) -> Problem:
        """The same with a quarter of the training rows kept for choosing settings."""
        return replace(self, federation=self.federation.with_split(0.0, 0.25, seed=1))


def synthetic(
    seed: int,
    clients: int = 300,
    dimension: int = 150,
    alpha: float = 0.4,
    rule: str = "bernoulli",
    components: int = 3,
    spread: float = 1.0,
    rounds: int = 200,
    test_rows: int = 300,
) -> Problem:
    """A mixture of linear models; `spread` scales them. Every client has so many test rows of its own."""
    truth = draw_mixture(components, dimension, alpha, rule, clients, seed)
    truth = truth._replace(models=spread * truth.models)
    rng = generator(seed, "fedem labels")
    if spread != 1:
        truth = truth._replace(y=_labels(truth.x, truth.components, truth.models, rule, rng))
    federation = Federation.from_owners(truth.x, truth.y, truth.owners, clients=clients, classes=2)
    test = _fresh_rows(truth, test_rows, rule, rng)
    task = Task.classification(linear(input_shape=(dimension,), outputs=2), 2)
    return Problem(replace(federation, test=test), task, rounds, truth)


def small_synthetic(seed: int, **options: Any) -> Problem:
    """A hundred clients in thirty dimensions, with labels as sharp as in a hundred and fifty."""
    return synthetic(seed, **{"clients": 100, "dimension": 30, "spread": 2.5, "rounds": 60, **options})


def digits(seed: int, rounds: int = 200) -> Problem:
    """Forty clients with 8x8 digits, labels dealt in three groups; one hidden layer."""
    return pictures(load("digits", partition="dirichlet-groups:0.4,3", clients=40, seed=seed), 32, rounds)


def mnist(seed: int, rounds: int = 100) -> Problem | None:
    """The same with 20,000 images of MNIST, where they are there."""
    if local("mnist.npz") is None:
        return None
    options: dict[str, Any] = {"partition": "dirichlet-groups:0.4,3", "clients": 40, "samples": 20_000}
    return pictures(load("mnist", seed=seed, **options), 32, rounds)


def pictures(federation: Federation, hidden: int, rounds: int) -> Problem:
    """A hidden layer for images of ten classes."""
    model = mlp(hidden, input_shape=federation.input_shape, outputs=10)
    return Problem(federation, Task.classification(model, 10), rounds)


def best_possible(problem: Problem) -> Score:
    """The predictor that knows the truth: the mean over components and noise."""
    truth, test = problem.truth, problem.federation.test
    assert truth is not None
    right = np.zeros(len(test.y))
    for first in range(0, len(test.y), 10_000):
        rows = slice(first, first + 10_000)
        raw = np.asarray(test.x[rows], np.float64) @ truth.models.T
        chance = (expit(raw[..., None] + NOISE) @ WEIGHTS) / WEIGHTS.sum()
        yes = np.einsum("nm,nm->n", chance, truth.shares[test.owners[rows]]) > 0.5
        right[rows] = yes == test.y[rows]
    per_client = np.bincount(test.owners, right) / test.sizes
    return score_of(per_client, problem.federation)


def tune_setting(
    problem: Problem,
    made: Callable[[float], Algorithm],
    grid: tuple[float, ...],
    rounds: int,
    **options: Any,
) -> float:
    """The setting with the best accuracy on held-out training rows; test rows are never looked at."""
    validated = problem.held_out()
    runs = {value: validated.learn(made(value), rounds, **options) for value in grid}
    return max(grid, key=lambda value: score(runs[value], "validation").mean)


def _fresh_rows(truth: Mixture, each: int, rule: str, rng: np.random.Generator) -> Split:
    clients, dimension = len(truth.shares), truth.models.shape[1]
    owners = np.repeat(np.arange(clients), each)
    steps = np.cumsum(truth.shares, axis=1)[:, :-1]
    z = (rng.random((len(owners), 1)) >= steps[owners]).sum(axis=1)
    x = rng.uniform(-1, 1, (len(owners), dimension)).astype(np.float32)
    return Split(x, _labels(x, z, truth.models, rule, rng), each * np.arange(clients + 1, dtype=np.int64))


def _labels(x: Any, z: Any, models: Float64s, rule: str, rng: np.random.Generator) -> NDArray[np.int32]:
    raw = np.take_along_axis(x @ models.T, z[:, None], axis=1)[:, 0]
    noise = rng.standard_normal(len(raw))
    if rule == "threshold":
        return (raw + 0.1 * noise > 0).astype(np.int32)
    return (rng.random(len(raw)) < expit(raw + noise)).astype(np.int32)


# The small problem ----------------------------------------------------------------------------------------


def small(seed: int, clients: int = CLIENTS) -> Federation:
    """A mixture of three linear models in ten dimensions."""
    return load(f"mixture:3,{DIMENSION},0.4", clients=clients, seed=seed, test_fraction=0.0)


def logistic_task(federation: Federation) -> Task:
    """Logistic regression with one row of weights per class."""
    return Task.classification(linear(input_shape=federation.input_shape, outputs=2), 2)


def scores(components: PyTree) -> Float64s:
    """The rows of weights whose difference decides between two classes, intercepts last."""
    rows = [
        np.append(np.asarray(one["w"][1] - one["w"][0]), np.asarray(one["b"][1] - one["b"][0]))
        for one in components
    ]
    return np.array(rows, np.float64)


def learn(federation: Federation, algorithm: FedAvg, rounds: int, **options: Any) -> Run:
    """A run that is not evaluated on the way."""
    task = options.pop("task", None) or logistic_task(federation)
    return train(federation, task, algorithm, rounds=rounds, seed=1, evaluate_every=0, **options)


def fedem(rate: float = 1.0, steps: int = 1, batch: int = 0, **options: Any) -> FedEM:
    """FedEM with a few steps of local work."""
    work = LocalWork(steps=steps, batch_size=batch)
    return FedEM(work=work, optimizer=Optimizer("sgd", rate), **options)


def shares_of(run: Run) -> Float64s:
    """Everyone's mixture weights."""
    memory, _ = run.memories.gather(np.arange(len(run.setting.federation)))
    return np.asarray(memory["weights"], np.float64)


def draw_problem(seed: int) -> tuple[MixtureProblem, Float64s, Float64s, Float64s]:
    """A problem, and components, weights and chances at random."""
    problem, rng = MixtureProblem.of(small(seed), Logistic()), np.random.default_rng(seed)
    theta = rng.normal(size=(3, DIMENSION + 1))
    chances = rng.dirichlet(np.ones(3), len(problem.y))
    return problem, theta, rng.dirichlet(np.ones(3), CLIENTS), chances


def slope_of(problem: MixtureProblem, theta: Float64s, weights: Float64s) -> Float64s:
    """The gradient of f in the components: (1/n) sum_i q[i, m] grad loss(theta_m; i)."""
    chances = problem.posterior(theta, weights)
    errors = expit(problem.x @ theta.T) - problem.y[:, None]
    return (chances * errors).T @ problem.x / len(problem.y)
