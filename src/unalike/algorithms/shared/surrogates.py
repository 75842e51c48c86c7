"""Majorizing surrogates of a client's objective.

A partial first-order surrogate g of f(u, v) near (u0, v0), with u shared by all clients and v private, lies
above f and touches it (Marfoq, Neglia, Bellet, Kameni, Vidal, Federated Multi-Task Learning under a Mixture
of Distributions, 2021, after Mairal, Optimization with First-Order Surrogate Functions, 2013):

    g(u, v) >= f(u, v),      g(u0, v0) = f(u0, v0),      grad_u g(u0, v0) = grad_u f(u0, v0),
    g(u, v0) - g(u, v*) = d(v0, v*) >= 0                 for v* = argmin_v g(u, v).

:func:`unalike.theory.mixtures.surrogate_check.check_surrogate` tests these lines for a user's own surrogate.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from ...core.pytrees import squared_norm, subtract
from ...models import Batch, Task
from ...typing import Params, PyTree, State
from .client_data import ClientData
from .mixture import (
    TINY,
    component_losses,
    mean_posterior,
    mixture_task,
    negative_log_likelihood,
    per_component,
    posterior,
    unlike_starts,
)
from .optimizers import Optimizer


@dataclass(frozen=True)
class Surrogate:
    """How to build a surrogate of a client's objective and what to do with it; without private variables
    unless a subclass says otherwise. `anchor` is whatever :meth:`build` keeps of the surrogate."""

    def init(self, task: Task, key: jax.Array) -> State:
        """Shared variables to start from."""
        return task.init(key)

    def first(self) -> PyTree:
        """A client's private variables before its first round."""
        return {}

    def draw(self, key: jax.Array) -> PyTree:
        """Any private variables, for checking."""
        return self.first()

    def objective(self, task: Task, shared: PyTree, private: PyTree, data: ClientData) -> jax.Array:
        """f, the client's true objective."""
        return task.loss(shared, data.all_rows())

    def build(self, task: Task, shared: PyTree, private: PyTree, data: ClientData) -> PyTree:
        """The surrogate near these variables."""
        return {}

    def value(
        self, task: Task, anchor: Params, shared: PyTree, private: PyTree, data: ClientData
    ) -> jax.Array:
        """g, the surrogate."""
        return self.objective(task, shared, private, data)

    def weighed(self, anchor: Params, data: ClientData) -> ClientData:
        """The client's rows with the weights that :meth:`loss` expects in mini-batches."""
        return data

    def loss(self, task: Task, anchor: Params, shared: PyTree, batch: Batch) -> jax.Array:
        """What a mini-batch says of g as a function of the shared variables, up to a constant."""
        return task.loss(shared, batch)

    def stepping(self, optimizer: Optimizer) -> Optimizer:
        """The optimizer as it steps over the shared variables."""
        return optimizer

    def best(self, task: Task, anchor: Params, shared: PyTree, data: ClientData) -> PyTree:
        """The private variables that minimize g."""
        return self.first()

    def distance(self, old: PyTree, new: PyTree) -> jax.Array:
        """d, by how much the step from old private variables to the best ones lowers g."""
        return jnp.zeros(())

    def predict(self, task: Task, shared: PyTree, private: PyTree, x: jax.Array) -> jax.Array:
        """Predictions for a batch of rows."""
        return task.apply(shared, x)


@dataclass(frozen=True)
class Averaging(Surrogate):
    """The objective is its own surrogate: federated averaging."""


@dataclass(frozen=True)
class Quadratic(Surrogate):
    """The tangent plus a parabola: f(w0) + <grad f(w0), w - w0> + smoothness/2 |w - w0|^2. It lies above f
    where the gradient of f changes at most `smoothness` times as fast as w."""

    smoothness: float = 1.0

    def build(self, task: Task, shared: PyTree, private: PyTree, data: ClientData) -> PyTree:
        return shared

    def value(
        self, task: Task, anchor: Params, shared: PyTree, private: PyTree, data: ClientData
    ) -> jax.Array:
        return self.loss(task, anchor, shared, data.all_rows())

    def loss(self, task: Task, anchor: Params, shared: PyTree, batch: Batch) -> jax.Array:
        step = subtract(shared, anchor)
        height, rise = jax.jvp(lambda w: task.loss(w, batch), (anchor,), (step,))
        return height + rise + 0.5 * self.smoothness * squared_norm(step)


@dataclass(frozen=True)
class MixtureBound(Surrogate):
    """FedEM's: the losses of all components weighted by each row's chances q at the anchor.

    g = mean_i sum_m q[i, m] (loss_m(i) - log weight_m + log q[i, m]), and d is the divergence of the new
    weights from the old ones.
    """

    components: int = 3

    def init(self, task: Task, key: jax.Array) -> State:
        return State(unlike_starts(task, self.components, key))

    def first(self) -> PyTree:
        return {"weights": jnp.full(self.components, 1.0 / self.components)}

    def draw(self, key: jax.Array) -> PyTree:
        drawn = jax.random.exponential(key, (self.components,))
        return {"weights": drawn / drawn.sum()}

    def objective(self, task: Task, shared: PyTree, private: PyTree, data: ClientData) -> jax.Array:
        values = negative_log_likelihood(self._losses(task, shared, data), private["weights"])
        return self._mean(task, shared, values, data)

    def build(self, task: Task, shared: PyTree, private: PyTree, data: ClientData) -> PyTree:
        return posterior(self._losses(task, shared, data), private["weights"])

    def value(
        self, task: Task, anchor: Params, shared: PyTree, private: PyTree, data: ClientData
    ) -> jax.Array:
        priors = jnp.log(jnp.maximum(private["weights"], TINY))
        terms = self._losses(task, shared, data) - priors + jnp.log(jnp.maximum(anchor, TINY))
        return self._mean(task, shared, jnp.sum(anchor * terms, axis=-1), data)

    def weighed(self, anchor: Params, data: ClientData) -> ClientData:
        return data.weighted(anchor * data.row_weights()[:, None])

    def loss(self, task: Task, anchor: Params, shared: PyTree, batch: Batch) -> jax.Array:
        return mixture_task(task, self.components).loss(shared, batch)

    def stepping(self, optimizer: Optimizer) -> Optimizer:
        return per_component(optimizer)

    def best(self, task: Task, anchor: Params, shared: PyTree, data: ClientData) -> PyTree:
        return {"weights": mean_posterior(anchor, data.row_weights())}

    def distance(self, old: PyTree, new: PyTree) -> jax.Array:
        ratio = jnp.maximum(new["weights"], TINY) / jnp.maximum(old["weights"], TINY)
        return jnp.sum(new["weights"] * jnp.log(ratio))

    def predict(self, task: Task, shared: PyTree, private: PyTree, x: jax.Array) -> jax.Array:
        outputs = jnp.stack([task.apply(params, x) for params in shared])
        return task.mixture(outputs, private["weights"])

    def _losses(self, task: Task, shared: PyTree, data: ClientData) -> jax.Array:
        return data.per_row(lambda x, y: component_losses(task, shared, x, y))

    def _mean(self, task: Task, shared: PyTree, values: jax.Array, data: ClientData) -> jax.Array:
        """The mean over rows, and the penalty that the task may ask for (its loss without any row)."""
        nothing = data.weighted(jnp.zeros((data.capacity, self.components))).all_rows()
        penalty = self.loss(task, None, shared, nothing) if task.l2 else 0.0
        return data.row_weights() @ values / jnp.maximum(data.size, 1) + penalty
