"""The model interface: initialize parameters, predict rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax

from ..typing import Params, PyTree
from .layers import Layer
from .losses import Loss
from .module_state import StateChoice

if TYPE_CHECKING:
    from .torch_tensors import ModuleTensors


@dataclass(frozen=True)
class Model:
    """`init(key)` makes parameters; `apply(parameters, x)` predicts a batch.

    `features(parameters, x)` is the representation before the last layer, and `apply_noisy(parameters, x,
    key)` is `apply` during training for models with dropout. `head` is where the parameters of the last layer
    are, such as "dense/1"; what is not the head is the body, which makes the features.

    A model with state, such as running statistics, has parameters that are :class:`Stateful`. Then
    `apply_training(parameters, x, weight, key)` gives predictions during training and the state after them,
    for which rows of weight zero do not count; `state` says whose state it is ("refuse" where nobody has
    chosen yet).
    """

    init: Callable[[jax.Array], Params]
    apply: Callable[[Params, jax.Array], jax.Array]
    features: Callable[[Params, jax.Array], jax.Array] | None = None
    apply_noisy: Callable[[Params, jax.Array, jax.Array], jax.Array] | None = None
    head: str | None = None
    apply_training: (
        Callable[[Params, jax.Array, jax.Array, jax.Array | None], tuple[jax.Array, PyTree]] | None
    ) = None
    state: StateChoice | None = None
    loss: Loss | None = None
    """The loss per row that goes with a model, such as minus a log-density; else rows and labels decide."""
    layers: tuple[Layer, ...] = ()
    """What a built-in model computes, in order; empty where only its functions know."""
    norms: tuple[str, ...] = ()
    """Where the parameters and statistics of normalization layers are, where their names do not say it."""
    tensors: ModuleTensors | None = None
    """How its parameters are the `state_dict` of the PyTorch module that it was made of."""
