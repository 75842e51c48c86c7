"""E-step of a mixture: responsibilities of the components for each sample.

A mixture of models is learned by expectation and maximization (Dempster, Laird, Rubin, Maximum Likelihood
from Incomplete Data via the EM Algorithm, 1977). With losses that are negative log-likelihoods,

    E:   q[i, m]    =  weight_m exp(-loss_m(i)) / sum_m' weight_m' exp(-loss_m'(i))
    M:   weight_m   =  mean_i q[i, m],      component_m  =  argmin  sum_i q[i, m] loss(i)

so the M-step of all components is one descent on a loss with one weight per sample and component.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
import optax

from ...models import Model, Task
from ...typing import Params, PyTree
from .optimizers import Optimizer

TINY = 1e-12
"""The smallest weight inside a logarithm; a weight of zero stays (nearly) zero for ever."""

Components = Sequence[PyTree]
"""The parameters of each component."""


def component_losses(task: Task, components: Iterable[PyTree], x: jax.Array, y: jax.Array) -> jax.Array:
    """The loss of every row under every component, as (rows, components)."""
    return jnp.stack([task.losses(params, x, y) for params in components], axis=-1)


def log_joint(losses: jax.Array, weights: jax.Array, temperature: float = 1.0) -> jax.Array:
    """log weight_m - loss_m of every row, up to a constant of the row."""
    return jnp.log(jnp.maximum(weights, TINY)) - losses / temperature


def posterior(losses: jax.Array, weights: jax.Array, temperature: float = 1.0) -> jax.Array:
    """The chance of every component for every row, given its losses.

    >>> posterior(jnp.array([[1.0, 1.0]]), jnp.array([0.5, 0.5])).tolist()
    [[0.5, 0.5]]
    """
    return jax.nn.softmax(log_joint(losses, weights, temperature), axis=-1)


def negative_log_likelihood(losses: jax.Array, weights: jax.Array) -> jax.Array:
    """-log sum_m weight_m exp(-loss_m) of every row."""
    return -jax.nn.logsumexp(log_joint(losses, weights), axis=-1)


def mean_posterior(chances: jax.Array, row_weights: jax.Array, smoothing: float = 0.0) -> jax.Array:
    """The mixture weights that fit the rows' chances best; equal ones where there is no row.

    `smoothing` adds that many pretended rows to every component.
    """
    components = chances.shape[-1]
    total = row_weights @ chances + smoothing
    rows = jnp.sum(row_weights) + smoothing * components
    return jnp.where(rows > 0, total / jnp.where(rows > 0, rows, 1.0), 1.0 / components)


def weighted_mean(values: jax.Array, row_weights: jax.Array) -> jax.Array:
    """The mean over rows; zero where there is none. Weights may sum to less than one row."""
    total = jnp.sum(row_weights)
    return row_weights @ values / jnp.where(total > 0, total, 1.0)


def per_component(optimizer: Optimizer) -> Optimizer:
    """The optimizer on each component for itself, as if it were alone: one's gradient clips no other's."""
    inner = optimizer.build()

    def init(params: Components) -> list[PyTree]:
        return [inner.init(one) for one in params]

    def update(
        gradients: Components, memories: Components, params: Components | None = None
    ) -> tuple[list[PyTree], list[PyTree]]:
        own = [None] * len(gradients) if params is None else params
        moves = [inner.update(*parts) for parts in zip(gradients, memories, own, strict=True)]
        return [move for move, _ in moves], [memory for _, memory in moves]

    return replace(optimizer, clip=None, custom=optax.GradientTransformation(init, update))


def mixture_task(task: Task, components: int) -> Task:
    """All components at once: the sum over components of the task's loss, each with row weights of its own
    (a last axis of the batch's weights)."""
    model = task.model

    def apply(params: Components, x: jax.Array) -> list[jax.Array]:
        return [model.apply(one, x) for one in params]

    def apply_noisy(params: Components, x: jax.Array, key: jax.Array) -> list[jax.Array]:
        assert model.apply_noisy is not None
        keys = [key, *(jax.random.fold_in(key, m) for m in range(1, components))]
        return [model.apply_noisy(one, x, k) for one, k in zip(params, keys, strict=True)]

    def losses(outputs: list[jax.Array], y: jax.Array) -> jax.Array:
        return jnp.stack([task.sample_loss(one, y) for one in outputs], axis=-1)

    noisy = None if model.apply_noisy is None else apply_noisy
    return Task(Model(model.init, apply, None, noisy), losses, l2=task.l2)  # type: ignore[arg-type]


def unlike_starts(task: Task, components: int, key: jax.Array) -> list[PyTree]:
    """A start for every component, each drawn anew.

    Equal components would stay equal for ever. So where a model always starts at the same point, as linear
    ones do, small noise makes the starts differ.
    """
    first = task.init(key)
    others = [task.init(jax.random.fold_in(key, m)) for m in range(1, components)]
    if not others:
        return [first]
    gaps = jax.tree.map(lambda a, b: jnp.max(jnp.abs(a - b), initial=0.0), first, others[0])
    alike = jnp.max(jnp.stack(jax.tree.leaves(gaps))) == 0
    keys = jax.random.split(jax.random.fold_in(key, components), components)
    return [
        jax.tree.map(lambda leaf, noise: leaf + alike * noise, start, _noise(start, k))
        for start, k in zip([first, *others], keys, strict=True)
    ]


def _noise(params: Params, key: jax.Array) -> PyTree:
    """Noise as large as a fully connected layer's usual start."""
    leaves, structure = jax.tree.flatten(params)
    keys = jax.random.split(key, len(leaves))
    drawn = [
        jax.random.uniform(k, leaf.shape, leaf.dtype, -1.0, 1.0)
        / jnp.sqrt(leaf.shape[-1] if leaf.ndim else 1)
        for k, leaf in zip(keys, leaves, strict=True)
    ]
    return jax.tree.unflatten(structure, drawn)
