"""What is learned?

A :class:`Task` is a model (`init`, `apply`, and `features` where a representation is asked for), a loss per
sample and metrics per sample. Models are plain pytrees; nothing here knows of clients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, get_args

import jax
import jax.numpy as jnp

from ..core.pixels import as_floats
from ..core.pytrees import Tree
from ..errors import ConfigError, unknown
from .convolution_layout import canonical
from .foreign import check_model
from .losses import Loss, Outputs, cross_entropy, outputs_for, squared_error
from .metrics import Metric, metrics_for
from .mixture import mixture


class Batch(NamedTuple):
    """Rows to learn from. `weight` is 0 for padding; `size` counts the rows that are real."""

    x: jax.Array
    y: jax.Array
    weight: jax.Array
    size: jax.Array
    key: jax.Array | None = None

    @classmethod
    def of(cls, x: Any, y: Any, weight: Any = None, key: jax.Array | None = None) -> Batch:
        """A batch without padding."""
        rows = jnp.asarray(x).shape[0]
        ones = jnp.ones(rows) if weight is None else jnp.asarray(weight)
        return cls(jnp.asarray(x), jnp.asarray(y), ones, jnp.asarray(rows, jnp.float32), key)


@dataclass(frozen=True)
class Model:
    """`init(key)` makes parameters; `apply(parameters, x)` predicts a batch.

    `features(parameters, x)` is the representation before the last layer, and `apply_noisy(parameters, x,
    key)` is `apply` during training for models with dropout. `head` is where the parameters of the last layer
    are, such as "dense/1"; what is not the head is the body, which makes the features.
    """

    init: Callable[[jax.Array], Tree]
    apply: Callable[[Tree, jax.Array], jax.Array]
    features: Callable[[Tree, jax.Array], jax.Array] | None = None
    apply_noisy: Callable[[Tree, jax.Array, jax.Array], jax.Array] | None = None
    head: str | None = None


@dataclass(frozen=True)
class Task:
    """A model with the loss that trains it and the metrics that judge it.

    >>> from unalike.models import linear
    >>> task = Task.classification(linear(input_shape=(4,), outputs=3), classes=3)
    >>> params = task.init(jax.random.key(0))
    >>> float(task.loss(params, Batch.of(jnp.ones((2, 4)), jnp.array([0, 1])))) > 0
    True
    """

    model: Model
    sample_loss: Loss
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    l2: float = 0.0
    """Adds l2/2 times the squared norm of the parameters to the loss."""
    outputs: Outputs | None = None
    """What the model's outputs are; known without being said for the losses of :mod:`.losses` and Optax."""

    __hash__ = object.__hash__

    def __post_init__(self) -> None:
        check_model(self.model)
        if self.outputs is not None and self.outputs not in get_args(Outputs):
            raise unknown("kind of outputs", str(self.outputs), get_args(Outputs))

    @classmethod
    def classification(cls, model: Model, classes: int, l2: float = 0.0) -> Task:
        """Cross-entropy over `classes` classes, judged by accuracy."""
        return cls(model, cross_entropy, metrics_for(classes), l2)

    @classmethod
    def regression(cls, model: Model, l2: float = 0.0) -> Task:
        """Half the squared error, judged by the mean squared error."""
        return cls(model, squared_error, metrics_for(None), l2)

    @classmethod
    def custom(
        cls,
        init: Callable[[jax.Array], Tree],
        apply: Callable[[Tree, jax.Array], jax.Array],
        loss: Loss,
        metrics: Mapping[str, Metric] | None = None,
        outputs: Outputs | None = None,
    ) -> Task:
        """A task from a user's own two functions and loss per sample.

        Methods that mix predictions ask what the `outputs` are: "logits" of classes, a "logit" of yes, or
        "values". For well-known losses they need not be told.
        """
        return cls(Model(init, apply), loss, metrics or {}, outputs=outputs)

    def init(self, key: jax.Array) -> Tree:
        """Fresh parameters."""
        return self.model.init(key)

    def apply(self, params: Tree, x: jax.Array) -> jax.Array:
        """Predictions (logits for a classification) for a batch of rows; images may be bytes."""
        return self.model.apply(params, as_floats(x))

    def losses(self, params: Tree, x: jax.Array, y: jax.Array) -> jax.Array:
        """One loss per row, without any noise of training."""
        return self.sample_loss(self.apply(params, x), y)

    def loss(self, params: Tree, batch: Batch) -> jax.Array:
        """The weighted sum of losses divided by the number of rows (not by the sum of weights)."""
        if self.model.apply_noisy is not None and batch.key is not None:
            outputs = self.model.apply_noisy(params, as_floats(batch.x), batch.key)
        else:
            outputs = self.apply(params, batch.x)
        mean = jnp.sum(batch.weight * self.sample_loss(outputs, batch.y)) / jnp.maximum(batch.size, 1.0)
        return mean + self._penalty(params)

    def loss_and_gradient(self, params: Tree, batch: Batch) -> tuple[jax.Array, Tree]:
        """The loss on a batch and its gradient, in a form that is fast inside compiled loops."""
        return canonical(jax.value_and_grad(self.loss))(params, batch)

    def mixture(self, outputs: jax.Array, weights: jax.Array) -> jax.Array:
        """The prediction of several models together, from each one's outputs (leading axis) and weights that
        sum to one: probabilities are mixed, not logits."""
        return mixture(self.kind(), outputs, weights)

    def kind(self) -> Outputs:
        """What the outputs are: as the task says, or as its loss takes them; refused where neither tells."""
        found = self.outputs or outputs_for(self.sample_loss)
        if found is None:
            raise ConfigError(
                "predictions cannot be mixed, because this loss does not tell what the model's outputs are; "
                "say it, such as Task.custom(init, apply, loss, outputs='logits'), 'logit' or 'values'."
            )
        return found

    def measure(self, outputs: jax.Array, y: jax.Array) -> dict[str, jax.Array]:
        """Loss and metrics, one number per row."""
        return {"loss": self.sample_loss(outputs, y), **{k: f(outputs, y) for k, f in self.metrics.items()}}

    def _penalty(self, params: Tree) -> jax.Array | float:
        if not self.l2:
            return 0.0
        return 0.5 * self.l2 * sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(params))
