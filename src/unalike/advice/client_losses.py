"""Losses and gradients of clients as functions of flat parameters, to measure constants with.

Losses are those of clients' training rows with the task's penalty; the loss of all is their mean by
importance. Gradients are looked at where training passes: :func:`models_along_training`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jax.flatten_util import ravel_pytree

from ..algorithms import FedAvg, LocalWork, Optimizer
from ..core.pixels import as_floats
from ..core.random import generator
from ..data import Federation
from ..errors import ConfigError
from ..models import Batch, Task
from ..training.train import train
from ..typing import Array, ClientIds, Float64s, Params

POWER_STEPS, MINIMIZER_STEPS = 30, 500


@dataclass(frozen=True, kw_only=True)
class ProbeSettings:
    """Where and how much is measured."""

    rounds: int = 5
    """Rounds of FedAvg on whose way gradients are looked at."""
    learning_rate: float = 0.1
    batch_size: int = 16
    batches: int = 8
    """Mini-batches of each client and model."""
    most_clients: int = 50
    """Clients that are measured, drawn at random where there are more."""

    def __post_init__(self) -> None:
        least = min(self.batch_size, self.batches, self.most_clients)
        if least < 1 or self.rounds < 0 or not self.learning_rate > 0:
            raise ConfigError("constants need clients, mini-batches with rows, and a learning rate above 0.")


class ClientLosses:
    """Each client's loss and the loss of all as functions of flat parameters."""

    def __init__(self, federation: Federation, task: Task, seed: int) -> None:
        self.federation, self.task = federation, task
        flat, self.unflatten = ravel_pytree(task.init(jax.random.key(seed)))
        self.start: Float64s = np.asarray(flat, np.float64)
        self.share = federation.importance / federation.importance.sum()
        self._both = jax.jit(jax.value_and_grad(self._loss))
        # Backward twice: some layers have rules for derivatives that do not go forward.
        self._product = jax.jit(lambda w, v, b: jax.grad(lambda u: jax.grad(self._loss)(u, b) @ v)(w))

    def value(self, w: Float64s, client: int | None) -> float:
        """The loss of a client, or of all."""
        return float(self._both(_single(w), self.batch(client))[0])

    def gradient(self, w: Float64s, client: int | None) -> Float64s:
        """Of a client's loss, or of that of all."""
        return np.asarray(self._both(_single(w), self.batch(client))[1], np.float64)

    def squared_gradients(self, w: Float64s) -> tuple[float, float]:
        """|grad f|^2, and sum_i p_i |grad f_i|^2."""
        each = np.stack([self.gradient(w, i) for i in range(len(self.federation))])
        common = self.share @ each
        spread = float(self.share @ ((each - common) ** 2).sum(axis=1))
        return float(common @ common), float(common @ common) + spread

    def residual(self, w: Float64s, look: ProbeSettings, seed: int) -> float:
        """sum_i p_i E|mini-batch gradient|^2, which is |grad f_i|^2 plus the variance."""
        clients = range(len(self.federation))
        squares = [self.noise(w, i, look, seed)[0] + float(np.sum(self.gradient(w, i) ** 2)) for i in clients]
        return float(self.share @ squares)

    def noise(self, w: Float64s, client: int, look: ProbeSettings, seed: int) -> tuple[float, float]:
        """The variance of mini-batch gradients, and their largest squared norm."""
        x, y = self.federation.train.client(client)
        rng, width = generator(seed, "mini-batches", client), look.batch_size
        full, squares, variances = self.gradient(w, client), [], []
        for _ in range(look.batches):
            rows = rng.permutation(len(y))[:width]
            found = np.asarray(
                self._both(_single(w), _pad_batch(x[rows], y[rows], None, width))[1], np.float64
            )
            squares.append(float(np.sum(found**2)))
            variances.append(float(np.sum((found - full) ** 2)))
        return float(np.mean(variances)), max(squares)

    def curvature(self, w: Float64s, client: int) -> float:
        """The largest curvature in absolute value, by power iteration on Hessian-vector products."""
        direction = generator(0, "curvature").normal(size=len(w))
        size = 0.0
        for _ in range(POWER_STEPS):
            direction = direction / np.linalg.norm(direction)
            product = self._product(_single(w), _single(direction), self.batch(client))
            direction = np.asarray(product, np.float64)
            size = float(np.linalg.norm(direction))
            if not size:
                break
        return size

    def minimize(self, client: int | None) -> tuple[Float64s, float]:
        """The optimum that is found from the first model, and the loss there."""
        return self._descend(self.batch(client))

    def minimize_mixture(self, share: Float64s) -> tuple[Float64s, float]:
        """The same of the loss of all, if clients counted so much."""
        return self._descend(self._mixture(share))

    def _descend(self, batch: Batch) -> tuple[Float64s, float]:
        def both(w: Float64s) -> tuple[float, Float64s]:
            value, gradient = self._both(_single(w), batch)
            return float(value), np.asarray(gradient, np.float64)

        options = {"maxiter": MINIMIZER_STEPS, "gtol": 1e-7, "ftol": 1e-12}
        found = scipy.optimize.minimize(both, self.start, jac=True, method="L-BFGS-B", options=options)
        return np.asarray(found.x), float(found.fun)

    def batch(self, client: int | None) -> Batch:
        """All rows of a client, or of all clients, weighted so that the mean is the loss of all."""
        return self._everyone if client is None else self._each[client]

    @cached_property
    def _each(self) -> list[Batch]:
        train = self.federation.train
        width = int(train.sizes.max())
        return [_pad_batch(*train.client(i), None, width) for i in range(len(self.federation))]

    @cached_property
    def _everyone(self) -> Batch:
        return self._mixture(self.share)

    def _mixture(self, share: Float64s) -> Batch:
        train = self.federation.train
        weights = (share / train.sizes)[train.owners] * len(train.y)
        return _pad_batch(train.x, train.y, weights, len(train.y))

    def _loss(self, w: jax.Array, batch: Batch) -> jax.Array:
        return self.task.loss(self.unflatten(w), batch)


def some_clients(federation: Federation, most: int, seed: int) -> ClientIds:
    """Clients with rows that count, at most so many, drawn at random where there are more."""
    clients = np.flatnonzero((federation.train.sizes > 0) & (federation.importance > 0))
    if not len(clients):
        raise ConfigError("constants cannot be measured: no client has rows and counts.")
    if len(clients) > most:
        clients = np.sort(generator(seed, "measured clients").choice(clients, most, replace=False))
    return clients


def only_clients(federation: Federation, clients: ClientIds) -> Federation:
    """These clients, whose importances sum to one."""
    share = federation.importance[clients]
    return federation.subset(clients).with_importance(share / share.sum())


def models_along_training(
    federation: Federation, task: Task, look: ProbeSettings, seed: int
) -> Iterator[Float64s]:
    """Models on the way of a short training, the middle one and the last."""
    if not look.rounds:
        return
    work, optimizer = LocalWork(epochs=1, batch_size=look.batch_size), Optimizer("sgd", look.learning_rate)
    run = train(
        federation,
        task,
        FedAvg(work=work, optimizer=optimizer),
        rounds=look.rounds,
        seed=seed,
        evaluate_every=0,
        keep_history=True,
    )
    for number in sorted({(look.rounds + 1) // 2, look.rounds}):
        params: Params = run.history.state(number)["params"]
        yield np.asarray(ravel_pytree(params)[0], np.float64)


def _pad_batch(x: Array, y: Array, weights: Float64s | None, rows: int) -> Batch:
    """A batch of so many rows, of which the last ones weigh nothing, so that all clients compile once."""
    real = len(y)
    x, y = (
        np.concatenate([np.asarray(part), np.zeros((rows - real, *part.shape[1:]), part.dtype)])
        for part in (x, y)
    )
    given = np.zeros(rows, np.float32)
    given[:real] = 1.0 if weights is None else weights
    inputs, weighed = jnp.asarray(as_floats(x)), jnp.asarray(given)
    return Batch(inputs, jnp.asarray(y), weighed, jnp.asarray(real, jnp.float32))


def _single(w: Float64s) -> jax.Array:
    return jnp.asarray(w, jnp.float32)
