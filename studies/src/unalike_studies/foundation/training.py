"""Claims on foundations that need training: runs against closed forms and plain loops."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import lax
from numpy.typing import ArrayLike, NDArray

from unalike.algorithms import Algorithm, FedAvg, FedProx, LocalWork, Optimizer, Scaffold
from unalike.core import pytrees
from unalike.data import Federation
from unalike.data.sources.quadratic import weighted_optimum
from unalike.engine.local.batches import plan_batches
from unalike.models import Batch, Task
from unalike.training.train import train
from unalike.typing import Params, PyTree

from ..study import Claim, at_least, at_most
from .data import RATE, STEPS, digits, drifted_optimum, quadratic


def training_claims(quick: bool) -> list[Claim]:
    """F-1 to F-8."""
    seeds = range(1 if quick else 5)
    return [
        at_most(
            "F-1",
            "FedAvg with one client and one epoch is plain SGD, bit for bit",
            [_gap_to_plain_sgd(seed) for seed in seeds],
            0.0,
        ),
        at_most(
            "F-2", "FedProx with mu = 0 is FedAvg", [_gap_without_proximal_term(seed) for seed in seeds], 0.0
        ),
        *_drift_claims(list(seeds), 300 if quick else 600),
        at_most(
            "F-6",
            "full participation is the weighted average of the clients' own models",
            [_gap_to_weighted_average(seed) for seed in seeds],
            1e-6,
        ),
        _cores_claim(list(seeds)),
        at_most(
            "F-8",
            "the debug engine gives the same model",
            [_gap_to_debug(seed) for seed in list(seeds)[:2]],
            1e-5,
        ),
    ]


def _train(
    algorithm: Algorithm, federation: Federation, task: Task, rounds: int, seed: int, **options: object
) -> PyTree:
    run = train(federation, task, algorithm, rounds=rounds, seed=seed, evaluate_every=0, **options)  # type: ignore[arg-type]
    return run.state["params"]


def _gap_to_plain_sgd(seed: int) -> float:
    """The largest difference between one federated round of one client and a loop that knows of no
    federation."""
    federation, task = digits(seed, 1)
    work, rate = LocalWork(epochs=1, batch_size=32), 0.1
    federated = _train(FedAvg(work=work, optimizer=Optimizer("sgd", rate)), federation, task, 1, seed)
    (x, y), rows = federation.train.client(0), len(federation.train.y)
    order = plan_batches(work, np.array([rows]), np.array([0]), 0, seed, rows).positions[0]
    plain = _plain_sgd(
        task, train(federation, task, FedAvg(), rounds=0, seed=seed).state["params"], x, y, order, rate
    )
    return pytrees.largest_difference(federated, plain)


def _plain_sgd(
    task: Task, params: Params, x: NDArray[Any], y: NDArray[Any], order: NDArray[np.int32], rate: float
) -> PyTree:
    """Mini-batch descent, written down without any of the library's loops."""
    full = order[(order >= 0).all(1)]
    step = partial(_step, task, x, y, rate)
    params = jax.jit(
        lambda p: lax.fori_loop(0, len(full), lambda s, q: step(q, jax.numpy.asarray(full)[s]), p)
    )(params)
    rest = order[len(full)][order[len(full)] >= 0] if len(full) < len(order) else np.zeros(0, np.int32)
    return jax.jit(lambda p: step(p, rest))(params) if len(rest) else params


def _step(
    task: Task, x: NDArray[Any], y: NDArray[Any], rate: float, params: Params, rows: ArrayLike
) -> PyTree:
    gradient = jax.grad(task.loss)(params, Batch.of(jax.numpy.asarray(x)[rows], jax.numpy.asarray(y)[rows]))
    return jax.tree.map(lambda p, g: p - rate * g, params, gradient)


def _gap_without_proximal_term(seed: int) -> float:
    federation, task = digits(seed, 10)
    work = LocalWork(epochs=2, batch_size=16)
    pair = [_train(a, federation, task, 5, seed) for a in (FedAvg(work=work), FedProx(work=work, mu=0.0))]
    return pytrees.largest_difference(*pair)


def _drift_claims(seeds: list[int], rounds: int) -> list[Claim]:
    to_optimum, to_drifted, biases, scaffold = [], [], [], []
    work, optimizer = LocalWork(steps=STEPS, batch_size=0), Optimizer("sgd", RATE)
    for seed in seeds:
        federation, task, truth = quadratic(seed)
        best, drifted = weighted_optimum(truth), drifted_optimum(truth, RATE, STEPS)
        averaged, controlled = (
            np.asarray(_train(method, federation, task, rounds, seed)["w"])[0]
            for method in (kind(work=work, optimizer=optimizer) for kind in (FedAvg, Scaffold))
        )
        biases.append(float(np.linalg.norm(drifted - best)))
        to_optimum.append(float(np.linalg.norm(averaged - best)))
        to_drifted.append(float(np.linalg.norm(averaged - drifted)))
        scaffold.append(float(np.linalg.norm(controlled - best)))
    return [
        at_most("F-3", "FedAvg on quadratics ends at its closed-form biased point", to_drifted, 1e-4),
        at_least(
            "F-4",
            "which is away from the optimum",
            to_optimum,
            0.9 * min(biases),
            note=f"closed form of the bias: {min(biases):.3g} to {max(biases):.3g}",
        ),
        at_most("F-5", "SCAFFOLD ends at the optimum itself", scaffold, 1e-4),
    ]


def _gap_to_weighted_average(seed: int) -> float:
    """One round of everyone against each client trained in a federation of its own."""
    federation, task = digits(seed, 6)
    algorithm = FedAvg(work=LocalWork(epochs=1, batch_size=0))
    start = train(federation, task, algorithm, rounds=0, seed=seed).state
    alone = [
        train(
            federation.subset([i]), task, algorithm, rounds=1, seed=seed, initial=start, evaluate_every=0
        ).state["params"]
        for i in range(len(federation))
    ]
    mean = jax.tree.map(
        lambda *leaves: sum(w * leaf for w, leaf in zip(federation.importance, leaves, strict=True)), *alone
    )
    return pytrees.largest_difference(mean, _train(algorithm, federation, task, 1, seed))


def _cores_claim(seeds: list[int]) -> Claim:
    words = "one and two cores give the same model"
    if len(jax.devices()) < 2:
        return Claim("F-7", words, None, "<= 1e-5", None, True, hard=False, note="this machine has one core")
    return at_most("F-7", words, [_gap_between(seed, {"devices": 1}, {"devices": 2}) for seed in seeds], 1e-5)


def _gap_between(seed: int, one: dict[str, object], other: dict[str, object]) -> float:
    federation, task = digits(seed, 10)
    make: Callable[[dict[str, object]], PyTree] = lambda o: _train(  # noqa: E731
        Scaffold(work=LocalWork(epochs=2, batch_size=16)), federation, task, 5, seed, per_round=4, **o
    )
    return pytrees.largest_difference(make(one), make(other))


def _gap_to_debug(seed: int) -> float:
    federation, task = digits(seed, 6)
    work = LocalWork(steps=2, batch_size=8)
    pair = [
        _train(FedAvg(work=work), federation, task, 2, seed, per_round=3, engine=e)
        for e in ("local", "debug")
    ]
    return pytrees.largest_difference(*pair)
