"""The task: model, loss, metrics.

A :class:`Task` is a model (`init`, `apply`, and `features` where a representation is asked for), a loss per
sample and metrics. Models are plain pytrees; nothing here knows of clients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, get_args

import jax
import jax.numpy as jnp
from numpy.typing import DTypeLike

from ..core.pixels import as_floats
from ..errors import ConfigError, unknown
from ..typing import Leaf, Params, PyTree
from .adapters import as_model
from .convolution_layout import canonical
from .losses import Loss, Outputs, cross_entropy, outputs_for, squared_error
from .metrics import Metric, as_metrics, metrics_for
from .metrics.base import Given, Statistic
from .mixture import mixture
from .model import Model
from .module_state import Stateful, weights_of
from .unsupported_modules import check_model

if TYPE_CHECKING:
    from ..data.federation import Federation


class Batch(NamedTuple):
    """Rows to learn from. `weight` is 0 for padding; `size` counts the rows that are real."""

    x: jax.Array
    y: jax.Array
    weight: jax.Array
    size: jax.Array
    key: jax.Array | None = None

    @classmethod
    def of(cls, x: Leaf, y: Leaf, weight: Leaf = None, key: jax.Array | None = None) -> Batch:
        """A batch without padding."""
        rows = jnp.asarray(x).shape[0]
        ones = jnp.ones(rows) if weight is None else jnp.asarray(weight)
        return cls(jnp.asarray(x), jnp.asarray(y), ones, jnp.asarray(rows, jnp.float32), key)


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

    def __hash__(self) -> int:
        """Equal tasks have equal hashes, so that programs compiled for one serve the other."""
        return hash((self.model, self.sample_loss, tuple(self.metrics), self.outputs))

    def __post_init__(self) -> None:
        check_model(self.model)
        if self.outputs is not None and self.outputs not in get_args(Outputs):
            raise unknown("kind of outputs", str(self.outputs), get_args(Outputs))
        made = as_metrics(self.metrics, self.outputs or outputs_for(self.sample_loss))
        object.__setattr__(self, "metrics", made)

    @classmethod
    def of(
        cls,
        federation: Federation,
        model: object = "mlp",
        *,
        l2: float = 0.0,
        metrics: Given = None,
        state: str = "refuse",
    ) -> Task:
        """The task that these clients' rows ask for: a classification where targets are classes, else a
        regression, with a model by name or of your own (see :meth:`classification`); a model
        that has a loss of its own, such as `gaussian`, is trained by that.

        >>> from unalike.data import load
        >>> federation = load("digits", clients=3)
        >>> list(Task.of(federation, "linear").metrics)
        ['accuracy']
        """
        shape, classes = federation.input_shape, federation.classes
        made = as_model(model, shape, classes or _targets(federation), state, federation.train.x.dtype)
        if made.loss is not None:
            return cls(made, made.loss, as_metrics(metrics, outputs_for(made.loss)), l2)
        if classes:
            return cls.classification(made, classes, l2, metrics)
        return cls.regression(made, l2, metrics)

    @classmethod
    def classification(
        cls,
        model: object,
        classes: int,
        l2: float = 0.0,
        metrics: Given = None,
        *,
        input_shape: tuple[int, ...] | None = None,
        state: str = "refuse",
    ) -> Task:
        """Cross-entropy over `classes` classes, judged by accuracy or other metrics, such as `("f1", "auc")`;
        the first that is a number judges clients.

        The model is one of :mod:`unalike.models`, a pair `(init, apply)`, or a module of PyTorch or Flax
        (both need the `input_shape`) or Equinox; `state` says what becomes of a module's running statistics.
        """
        made = as_model(model, input_shape, classes, state)
        return cls(made, cross_entropy, _or_usual(metrics, "logits", classes), l2)

    @classmethod
    def regression(
        cls,
        model: object,
        l2: float = 0.0,
        metrics: Given = None,
        *,
        input_shape: tuple[int, ...] | None = None,
        state: str = "refuse",
    ) -> Task:
        """Half the squared error, judged by the root of the mean squared error or other metrics, such as
        `("rmse", "mae")`; for the model see :meth:`classification`."""
        made = as_model(model, input_shape, None, state)
        return cls(made, squared_error, _or_usual(metrics, "values", None), l2)

    @classmethod
    def custom(
        cls,
        init: Callable[[jax.Array], Params],
        apply: Callable[[Params, jax.Array], jax.Array],
        loss: Loss,
        metrics: Given = None,
        outputs: Outputs | None = None,
    ) -> Task:
        """A task from a user's own two functions and loss per sample.

        A metric is a :class:`Metric`, or a function that gives one number per row: `metrics={"mine": f}`.
        Methods that mix predictions ask what the `outputs` are: "logits" of classes, a "logit" of yes, or
        "values". For well-known losses they need not be told.
        """
        made = as_metrics(metrics, outputs or outputs_for(loss))
        return cls(Model(init, apply), loss, made, outputs=outputs)

    def init(self, key: jax.Array) -> Params:
        """Fresh parameters."""
        return self.model.init(key)

    def apply(self, params: Params, x: jax.Array) -> jax.Array:
        """Predictions (logits for a classification) for a batch of rows; images may be bytes."""
        return self.model.apply(params, as_floats(x))

    def losses(self, params: Params, x: jax.Array, y: jax.Array) -> jax.Array:
        """One loss per row, without any noise of training."""
        return self.sample_loss(self.apply(params, x), y)

    def loss(self, params: Params, batch: Batch) -> jax.Array:
        """The loss of a model on a batch, as it is trained (with dropout, where the batch has a key)."""
        if isinstance(params, Stateful):
            raise ConfigError(
                "this method computes gradients on its own and would leave the module's state as it is; "
                "choose a method that trains by local_sgd, such as fedavg, or a model without state."
            )
        if self.model.apply_noisy is not None and batch.key is not None:
            outputs = self.model.apply_noisy(params, as_floats(batch.x), batch.key)
        else:
            outputs = self.apply(params, batch.x)
        return self.batch_loss(outputs, batch) + self._penalty(params)

    def batch_loss(self, outputs: jax.Array, batch: Batch) -> jax.Array:
        """The weighted sum of losses divided by the number of rows (not by the sum of weights)."""
        return jnp.sum(batch.weight * self.sample_loss(outputs, batch.y)) / jnp.maximum(batch.size, 1.0)

    def loss_and_gradient(self, params: Params, batch: Batch) -> tuple[jax.Array, PyTree]:
        """The loss on a batch and its gradient, in a form that is fast inside compiled loops."""
        return canonical(jax.value_and_grad(self.loss))(params, batch)

    def learn(self, params: Stateful, batch: Batch) -> tuple[jax.Array, PyTree, PyTree]:
        """The same for a model with state: loss, gradient of the weights, and the state after the batch."""
        apply = self.model.apply_training
        assert apply is not None

        def loss(weights: Params, state: PyTree, batch: Batch) -> tuple[jax.Array, PyTree]:
            whole = Stateful(weights, state)
            outputs, after = apply(whole, as_floats(batch.x), batch.weight, batch.key)
            return self.batch_loss(outputs, batch) + self._penalty(weights), after

        (value, after), gradient = canonical(jax.value_and_grad(loss, has_aux=True))(*params, batch)
        return value, gradient, jax.lax.stop_gradient(after)

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
        """Loss and the metrics' statistics, one number or array per row."""
        return {
            "loss": self.sample_loss(outputs, y),
            **{k: f(outputs, y) for k, f in self.statistics.items()},
        }

    @property
    def statistics(self) -> dict[str, Statistic]:
        """What is computed of every row for the metrics, some of which may share it."""
        return {metric.statistic: metric.per_row for metric in self.metrics.values()}

    def statistic_shapes(self, x: Leaf, y: Leaf) -> dict[str, tuple[int, ...]]:
        """The shape of a row's loss and of every statistic, () for a number, of rows such as these."""
        return _shapes(self, tuple(x.shape[1:]), x.dtype, tuple(y.shape[1:]), y.dtype)

    def _penalty(self, params: Params) -> jax.Array | float:
        if not self.l2:
            return 0.0
        return 0.5 * self.l2 * sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(weights_of(params)))


def _targets(federation: Federation) -> int:
    return 1 if federation.train.y.ndim == 1 else federation.train.y.shape[1]


def _or_usual(metrics: Given, kind: Outputs, classes: int | None) -> dict[str, Metric]:
    """The metrics that are asked for, with the usual one before them if none of them is a number."""
    asked, usual = as_metrics(metrics, kind), metrics_for(classes)
    return asked if any(not metric.table for metric in asked.values()) else usual | asked


@lru_cache(maxsize=64)
def _shapes(
    task: Task, x: tuple[int, ...], x_type: DTypeLike, y: tuple[int, ...], y_type: DTypeLike
) -> dict[str, tuple[int, ...]]:
    params = jax.eval_shape(task.init, jax.eval_shape(lambda: jax.random.key(0)))
    rows = jax.ShapeDtypeStruct((1, *x), x_type), jax.ShapeDtypeStruct((1, *y), y_type)
    found = jax.eval_shape(lambda p, a, b: task.measure(task.apply(p, a), b), params, *rows)
    return {name: tuple(found[name].shape[1:]) for name in ("loss", *task.statistics)}
