"""Surrogate conditions, checked numerically.

Points are drawn at random and every promise of a partial first-order surrogate (see
:mod:`unalike.algorithms.shared.surrogates`) is measured on them in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from ...algorithms.shared.client_data import ClientData
from ...algorithms.shared.surrogates import Surrogate
from ...models import Task
from ...typing import PyTree

PROMISES = {
    "below": "the surrogate lies above the objective",
    "gap": "it touches the objective where it was built",
    "gradient_gap": "it touches with the same gradient",
    "batch_gap": "mini-batches have the gradient of the surrogate",
    "not_best": "no private variables are better than the best ones",
    "step_gap": "the private step lowers it by the distance",
    "negative": "distances are not negative",
}


@dataclass(frozen=True)
class SurrogateReport:
    """By how much each promise was broken at the worst point; zero, or nearly, where it is kept."""

    below: float
    gap: float
    gradient_gap: float
    batch_gap: float
    not_best: float
    step_gap: float
    negative: float

    def broken(self, tolerance: float = 1e-8) -> list[str]:
        """The promises that are broken by more than a tolerance, in words."""
        worst = {field.name: getattr(self, field.name) for field in fields(self)}
        return [f"{PROMISES[name]} (off by {by:.3g})" for name, by in worst.items() if not by <= tolerance]


def check_surrogate(
    surrogate: Surrogate,
    task: Task,
    x: ArrayLike,
    y: ArrayLike,
    *,
    points: int = 10,
    spread: float = 1.0,
    seed: int = 0,
) -> SurrogateReport:
    """Measure every promise at random points around random anchors, `spread` apart."""
    with jax.enable_x64(True):
        data = whole_client(np.asarray(x, np.float64), y)
        measure = jax.jit(lambda key: _at_a_point(surrogate, task, data, key, spread))
        found = [measure(jax.random.fold_in(jax.random.key(seed), k)) for k in range(points)]
        return SurrogateReport(**{name: max(float(one[name]) for one in found) for name in PROMISES})


def whole_client(x: Any, y: Any, batch_size: int = 0, steps: int = 1) -> ClientData:
    """A client with these rows, in mini-batches of consecutive rows (all at once for 0)."""
    rows = len(x)
    width = min(batch_size or rows, rows)
    positions = np.arange(steps * width).reshape(steps, width) % rows
    return ClientData(
        x=jnp.asarray(x),
        y=jnp.asarray(y),
        weights=None,
        own_weights=None,
        # Plain numbers, so that loops over rows have a known length and can be differentiated.
        start=0,  # type: ignore[arg-type]
        size=rows,  # type: ignore[arg-type]
        steps=steps,  # type: ignore[arg-type]
        positions=jnp.asarray(positions),
        round=jnp.asarray(0),
        key=jax.random.key(0),
        capacity=rows,
    )


def _at_a_point(
    surrogate: Surrogate, task: Task, data: ClientData, key: jax.Array, spread: float
) -> dict[str, jax.Array]:
    (u0, v0), (u, v) = _points(surrogate, task, key, spread)
    anchor = surrogate.build(task, u0, v0, data)

    def g(shared: PyTree, private: PyTree) -> jax.Array:
        return surrogate.value(task, anchor, shared, private, data)

    def f(shared: PyTree, private: PyTree) -> jax.Array:
        return surrogate.objective(task, shared, private, data)

    def on_batch(shared: PyTree) -> jax.Array:
        return surrogate.loss(task, anchor, shared, surrogate.weighed(anchor, data).batch(0))

    best = surrogate.best(task, anchor, u, data)
    return {
        "below": f(u, v) - g(u, v),
        "gap": jnp.abs(g(u0, v0) - f(u0, v0)),
        "gradient_gap": _apart(jax.grad(g)(u0, v0), jax.grad(f)(u0, v0)),
        "batch_gap": _apart(jax.grad(g)(u, v), jax.grad(on_batch)(u)),
        "not_best": g(u, best) - g(u, v),
        "step_gap": jnp.abs(g(u, v0) - g(u, best) - surrogate.distance(v0, best)),
        "negative": -surrogate.distance(v0, best),
    }


def _points(
    surrogate: Surrogate, task: Task, key: jax.Array, spread: float
) -> Iterator[tuple[PyTree, PyTree]]:
    """An anchor, and a point at random around it."""
    start = surrogate.init(task, key)
    for k in range(2):
        shared_key, private_key = jax.random.split(jax.random.fold_in(key, k))
        leaves, structure = jax.tree.flatten(start)
        keys = jax.random.split(shared_key, len(leaves))
        moved = [
            leaf.astype(jnp.float64) + spread * jax.random.normal(one, leaf.shape, jnp.float64)
            for leaf, one in zip(leaves, keys, strict=True)
        ]
        yield jax.tree.unflatten(structure, moved), surrogate.draw(private_key)


def _apart(a: PyTree, b: PyTree) -> jax.Array:
    gaps = jax.tree.map(lambda x, y: jnp.max(jnp.abs(x - y), initial=0.0), a, b)
    return jnp.max(jnp.stack(jax.tree.leaves(gaps)))
