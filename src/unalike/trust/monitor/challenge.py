"""A challenge: does an update depend on the model that it starts from, as after real training?

    pull = - cosine( update(model + offset) - update(model), offset )         for a secret random offset

Training on data pulls back towards the data's optimum: the loss curves upwards, so a start that is moved one
way is answered by an update that is moved the other way, and the pull is positive. Noise does not know of the
offset, and its pull scatters around zero by 1 / sqrt(d). Who replays the model's own moves goes on in the
offset's direction, with a pull of minus one. It costs two more answers of one client; because it cannot be
told from an ordinary round, it is best done rarely and without notice. It needs a start near which the loss
is curved: far from any optimum, or after a single small step, an honest pull is weak.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from ...core.pytrees import add, shapes, subtract
from ...errors import ConfigError
from ...typing import Float64s, Message, PyTree, Upload
from .signals import cosine

SURE = 4.0
"""Standard deviations of what noise would answer."""


class Answer(NamedTuple):
    """What a challenge has shown."""

    pull: float
    """Between -1 and 1; NaN where both updates were the same."""
    fresh: bool
    """Whether the client has answered to the model that it was sent."""


def challenge(
    ask: Callable[[Message], Upload], model: Message, key: jax.Array, deviation: float = 0.1
) -> Answer:
    """Ask a client twice, at a model and nearby, and compare; `ask` sends a message and returns the upload.

    >>> import jax.numpy as jnp
    >>> towards_one = lambda model: {"w": model["w"] + 0.5 * (1 - model["w"])}
    >>> challenge(towards_one, {"w": jnp.zeros(100)}, jax.random.key(0)).fresh
    True
    """
    if not deviation > 0:
        raise ConfigError(f"the deviation of a challenge must be above 0, but is {deviation:g}.")
    offset = random_offset(model, key, deviation)
    updates = [_update(ask, start) for start in (model, add(model, offset))]
    moved = _vector(offset)
    pull = -cosine(updates[1] - updates[0], moved)
    return Answer(pull, bool(pull > SURE / np.sqrt(len(moved))))


def random_offset(model: Message, key: jax.Array, deviation: float) -> PyTree:
    """Gaussian noise of the model's shape."""
    leaves, structure = jax.tree.flatten(model)
    keys = jax.random.split(key, len(leaves))
    noise = [deviation * jax.random.normal(k, leaf.shape) for k, leaf in zip(keys, leaves, strict=True)]
    return jax.tree.unflatten(structure, noise)


def _update(ask: Callable[[Message], Upload], start: Message) -> Float64s:
    upload = ask(start)
    if shapes(upload) != shapes(start):
        raise ConfigError("a challenge compares uploads with models, but these uploads have other shapes.")
    return _vector(subtract(upload, start))


def _vector(tree: PyTree) -> Float64s:
    return np.concatenate([np.asarray(leaf, np.float64).ravel() for leaf in jax.tree.leaves(tree)])
