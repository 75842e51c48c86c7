"""Layer split: which parameters are shared, and which stay with the client?

A model's parameters are told apart by their paths ("dense/1/w"). The shared part and the private part are
trees of the model's own structure in which the other part's leaves are missing (None), so each of them adds,
scales, travels and is saved like a model:

    params  =  join(shared, private)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.tree_util import tree_map_with_path

from ...core.pytrees import by_path, path_name
from ...models import Model, Task
from ...typing import Params, PyTree
from .client_data import ClientData

PathPredicate = Callable[[str], bool]
"""Whether the parameters at a path are chosen."""


class Parts(NamedTuple):
    """A model in two parts."""

    shared: PyTree
    private: PyTree


def paths(params: Params) -> list[str]:
    """The way to every leaf.

    >>> paths({"dense": [{"w": 1.0, "b": 2.0}]})
    ['dense/0/b', 'dense/0/w']
    """
    return list(by_path(params))


def under_path(*roots: str) -> PathPredicate:
    """Whether a path is one of `roots` or goes on from it, also by the dots of PyTorch's names.

    >>> under_path("dense/1")("dense/1/w"), under_path("dense/1")("dense/10/w"), under_path("fc")("fc.bias")
    (True, False, True)
    """
    return lambda path: any(path == root or path.startswith((f"{root}/", f"{root}.")) for root in roots)


def name_contains(word: str) -> PathPredicate:
    """Whether a part of the path contains the word, in small letters or capitals.

    >>> name_contains("norm")("BatchNorm_0/scale"), name_contains("norm")("dense/0/w")
    (True, False)
    """
    return lambda path: word.lower() in path.lower()


def split(params: Params, private: PathPredicate) -> Parts:
    """The shared and the private part.

    >>> split({"w": 1.0, "b": 2.0}, under_path("b"))
    Parts(shared={'b': None, 'w': 1.0}, private={'b': 2.0, 'w': None})
    """
    kept = tree_map_with_path(lambda path, _: private(path_name(path)), params)
    return Parts(
        jax.tree.map(lambda leaf, own: None if own else leaf, params, kept),
        jax.tree.map(lambda leaf, own: leaf if own else None, params, kept),
    )


def join(shared: PyTree, private: PyTree) -> PyTree:
    """The whole model again.

    >>> join({"w": 1.0, "b": None}, {"w": None, "b": 2.0})
    {'b': 2.0, 'w': 1.0}
    """
    return jax.tree.map(lambda a, b: b if a is None else a, shared, private, is_leaf=lambda x: x is None)


def with_fixed(task: Task, fixed: PyTree) -> Task:
    """The task of learning the other part of the model while `fixed` stays as it is."""
    model = task.model

    def apply(part: PyTree, x: jax.Array) -> jax.Array:
        return model.apply(join(part, fixed), x)

    def apply_noisy(part: PyTree, x: jax.Array, key: jax.Array) -> jax.Array:
        assert model.apply_noisy is not None
        return model.apply_noisy(join(part, fixed), x, key)

    def apply_training(
        part: PyTree, x: jax.Array, weight: jax.Array, key: jax.Array | None
    ) -> tuple[jax.Array, PyTree]:
        assert model.apply_training is not None
        outputs, state = model.apply_training(join(part, fixed), x, weight, key)
        return outputs, _where_there(part.state, state)

    noisy = None if model.apply_noisy is None else apply_noisy
    training = None if model.apply_training is None else apply_training
    return replace(
        task,
        model=Model(model.init, apply, apply_noisy=noisy, apply_training=training, state=model.state),
    )


def _where_there(part: PyTree, whole: PyTree) -> PyTree:
    """The leaves of the whole that the part has."""
    return jax.tree.map(lambda a, b: None if a is None else b, part, whole, is_leaf=lambda x: x is None)


def repeat_batches(data: ClientData, times: int) -> ClientData:
    """The planned mini-batches several times over, in the same order each time."""
    turn = jnp.arange(times * data.positions.shape[0]) % jnp.maximum(data.steps, 1)
    return replace(data, positions=data.positions[turn], steps=times * data.steps)
