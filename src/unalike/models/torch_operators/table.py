"""The table of PyTorch's operators that are known, and what an operator knows of where it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

Operator = Callable[..., Any]
Function = TypeVar("Function", bound=Operator)
OPERATORS: dict[str, Operator] = {}
"""By PyTorch's name with its overload, such as "aten.relu.default"; the first argument is the `Site`."""
_TYPES = {"float64": "float32", "int64": "int32", "uint64": "uint32"}
"""What PyTorch's wide types are here."""


class Site(NamedTuple):
    """Where an operator is called."""

    number: int
    """Its place in the graph, by which every dropout draws for itself."""
    used: frozenset[int] = frozenset()
    """Which of several results are read."""
    key: jax.Array | None = None
    """The mini-batch's randomness, in training."""
    weight: jax.Array | None = None
    """The rows' weights, in training of a model with state."""

    def draw(self, part: int = 0) -> jax.Array:
        """The randomness of this site alone."""
        assert self.key is not None
        return jax.random.fold_in(jax.random.fold_in(self.key, self.number), part)


class Swapped(NamedTuple):
    """An array by (time, rows, ...) that stands for one by (rows, time, ...), as recurrent layers give it.

    To turn it, and to turn its gradient back, would let XLA store the steps of a loop apart from each other.
    """

    array: jax.Array


def turn(x: Any) -> Any:
    """A swapped array as what it stands for; anything else as it is."""
    return x.array.swapaxes(0, 1) if isinstance(x, Swapped) else x


KNOW_SWAPPED = {
    *("aten.lstm.input", "aten.gru.input", "aten.rnn_tanh.input", "aten.rnn_relu.input"),
    *("aten.select.int", "aten.slice.Tensor", "aten.clone.default", "operator.getitem"),
}
"""Operators that read a :class:`Swapped` array; for all others it is turned."""


def operator(*names: str) -> Callable[[Function], Function]:
    """Register what an operator computes, of its arguments alone."""

    def register(function: Function) -> Function:
        for name in names:
            OPERATORS[name] = _without_site(function)
        return function

    return register


def sited_operator(*names: str) -> Callable[[Function], Function]:
    """Register what an operator computes that draws, knows rows by weight, or leaves out unused results."""

    def register(function: Function) -> Function:
        OPERATORS.update(dict.fromkeys(names, function))
        return function

    return register


def _without_site(function: Operator) -> Operator:
    return lambda site, *arguments, **keywords: function(*arguments, **keywords)


def jax_type(name: str | None) -> jnp.dtype | None:
    """The type of PyTorch's name.

    >>> jax_type("int64"), jax_type(None) is None
    (dtype('int32'), True)
    """
    return None if name is None else jnp.dtype(_TYPES.get(name, name))
