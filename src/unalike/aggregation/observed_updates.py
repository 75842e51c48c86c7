"""Observed updates: the change an upload makes, and its norm, for any algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp

from ..algorithms import Reply
from ..core import pytrees
from ..core.pytrees import shapes
from ..typing import Message, PyTree, Upload


def update(message: Message, upload: Upload) -> jax.Array:
    """The change from what the client was sent to what it sends, as one vector; where the two are not
    alike, the upload itself."""
    alike = shapes(message) == shapes(upload)
    change = pytrees.subtract(upload, message) if alike else upload
    return jnp.concatenate([jnp.zeros(0), *(leaf.ravel() for leaf in jax.tree.leaves(change))])


def update_norm(message: Message, upload: Upload) -> jax.Array:
    """The length of that change."""
    return jnp.linalg.norm(update(message, upload))


WATCHED: dict[str, Callable[[PyTree, PyTree], jax.Array]] = {"update": update, "update_norm": update_norm}


def add_observed_updates(names: tuple[str, ...], message: Message, reply: Reply) -> Mapping[str, jax.Array]:
    """The client's report with what is watched."""
    return {**reply.report, **{name: WATCHED[name](message, reply.upload) for name in names}}
