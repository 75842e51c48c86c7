"""State of modules that gradients do not train, such as running statistics.

Batch normalization (Ioffe, Szegedy, 2015) predicts with running means and variances that the forward pass of
training changes. Clients have different ones, so somebody must choose what becomes of them:

    average   they are part of the model: averaged like parameters, but by nobody's optimizer
    local     each client keeps its own; the average is what newcomers start from
    refuse    nobody has chosen

Parameters with state are a :class:`Stateful`, so that whoever has a model in hand can tell the two parts.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp

from ..core.pytrees import add, scale, subtract, zeros_like
from ..errors import ConfigError, unknown
from ..typing import Params, PyTree, Scalar

StateChoice = Literal["average", "local", "refuse"]


class Stateful(NamedTuple):
    """A model with state."""

    weights: Params
    """What gradients train."""
    state: PyTree
    """What the forward pass of training changes."""


def choose_state(choice: str, found: str) -> StateChoice:
    """The choice, refused with all of them where nobody has made one for the state that was found.

    >>> choose_state("average", "batch_stats")
    'average'
    """
    if choice not in get_args(StateChoice):
        raise unknown("choice of state", choice, get_args(StateChoice))
    if choice == "refuse":
        raise ConfigError(
            f"the model keeps state ({found}), and clients' states differ; choose what becomes of it: "
            "state='average' (--state average) makes it part of the model that is averaged, state='local' "
            "(--state local) lets each client keep its own; or use layer or group normalization, which have "
            "none."
        )
    return choice  # type: ignore[return-value]


def weights_of(params: Params) -> Params:
    """What gradients train of a model.

    >>> weights_of(Stateful({"w": 1.0}, {"mean": 2.0})), weights_of({"w": 1.0})
    ({'w': 1.0}, {'w': 1.0})
    """
    return params.weights if isinstance(params, Stateful) else params


def with_state(params: Params, state: PyTree) -> Params:
    """The model with another state; as it is where it has none.

    >>> with_state(Stateful(1.0, 2.0), 3.0)
    Stateful(weights=1.0, state=3.0)
    """
    return params._replace(state=state) if isinstance(params, Stateful) else params


def without_state(gradient: PyTree) -> PyTree:
    """A gradient that leaves the state alone."""
    return with_state(gradient, zeros_like(gradient.state)) if isinstance(gradient, Stateful) else gradient


def mean_state(new: Params, old: Params, total: Params, start: Params, weight: Scalar = 1.0) -> Params:
    """The model `new` with the mean of clients' states, whatever an optimizer made of it.

    Weights that sum to more than one are scaled to one, for else a variance might become negative.
    """
    if not isinstance(new, Stateful):
        return new
    share = 1.0 / jnp.maximum(weight, 1.0)
    rest = subtract(old.state, scale(share, start.state))
    return with_state(new, add(scale(share, total.state), rest))


def check_floats(state: PyTree) -> None:
    """Raise for state that has no average."""
    if not all(jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in jax.tree.leaves(state)):
        raise ConfigError("the module keeps state that is not made of floats, so that it has no average.")


def real_rows(weight: jax.Array, x: jax.Array) -> jax.Array:
    """Which rows of a layer's input count, in a shape that goes with it; all, where none has a weight.

    >>> real_rows(jnp.array([1.0, 0.0]), jnp.zeros((2, 3))).tolist()
    [[True], [False]]
    """
    if x.shape[0] != weight.shape[0]:
        raise ConfigError(
            f"a batch normalization sees {x.shape[0]} rows where the mini-batch has {weight.shape[0]}, so "
            "that padding cannot be told apart; keep the first axis for the mini-batch."
        )
    real = (weight > 0) | ~jnp.any(weight > 0)
    return real.reshape(-1, *(1,) * (x.ndim - 1))


def update_state(weight: jax.Array, old: PyTree, new: PyTree) -> PyTree:
    """The state after a mini-batch, which is the old one where no row has a weight."""
    return jax.tree.map(lambda a, b: jnp.where(jnp.any(weight > 0), b, a), old, new)
