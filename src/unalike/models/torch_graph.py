"""Graphs of PyTorch operators, interpreted as JAX functions.

A :class:`Graph` is plain data: operators by name, in order, and which values they read. It is written by
:mod:`.torch_export` and needs no PyTorch to run, so that it can be traced, differentiated, mapped and sent to
workers of one's own cluster like any function. What an operator computes is in :mod:`.torch_operators`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax

from ..typing import Array
from .torch_operators import KNOW_SWAPPED, OPERATORS, Site, turn


class Value(NamedTuple):
    """What an operator gave, or an input, by its name in the graph."""

    name: str


@dataclass(frozen=True)
class Operation:
    """One operator, called once."""

    name: str
    operator: str
    """Such as "aten.relu.default"."""
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    used: frozenset[int]
    """Which of several results are read."""
    line: str
    """The user's code that it comes from, such as "net.py, line 12: `x = self.pool(x)`"."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A module in one of its modes."""

    inputs: Mapping[str, str]
    """Parameters and buffers that are read: their names in the module, by value."""
    constants: Mapping[str, Array]
    """Tensors that are written in the module's code, by value."""
    rows: str
    """The value that is the mini-batch."""
    operations: tuple[Operation, ...]
    output: Any
    buffers: Mapping[str, Any]
    """Buffers that are changed, and the values that they become."""

    def run(
        self,
        tensors: Mapping[str, jax.Array],
        rows: jax.Array,
        key: jax.Array | None = None,
        weight: jax.Array | None = None,
        until: Value | None = None,
    ) -> tuple[jax.Array, dict[str, jax.Array]]:
        """What the module gives for a mini-batch, and its changed buffers.

        Args:
            tensors: Parameters and buffers by their names in the module.
            rows: The mini-batch.
            key: What dropout draws from; nothing is dropped without it.
            weight: The rows' weights; rows of weight zero do not count in batch normalization.
            until: A value of the graph to stop at, instead of the module's output.
        """
        known: dict[str, Any] = {value: tensors[name] for value, name in self.inputs.items()} | dict(
            self.constants
        )
        known[self.rows] = rows
        for number, operation in enumerate(self.operations):
            if until is not None and until.name in known:
                return _read(until, known), {}
            site = Site(number, operation.used, key, weight)
            lazy = operation.operator in KNOW_SWAPPED
            arguments, keywords = (
                _read(part, known, lazy) for part in (operation.arguments, operation.keywords)
            )
            known[operation.name] = OPERATORS[operation.operator](site, *arguments, **keywords)
        if until is not None:
            return _read(until, known), {}
        return _read(self.output, known), {name: _read(value, known) for name, value in self.buffers.items()}

    def describe(self) -> str:
        """The computation as text, without lines of code and without numbers of its own."""
        steps = [f"{o.name} = {o.operator}{o.arguments}{dict(o.keywords)}" for o in self.operations]
        constants = [f"{value} = {array.tolist()}" for value, array in self.constants.items()]
        return "\n".join(
            [str(dict(self.inputs)), *constants, *steps, str(self.output), str(dict(self.buffers))]
        )


def _read(thing: Any, known: Mapping[str, Any], lazy: bool = False) -> Any:
    """The thing with values in place of their names, turned to where they belong unless `lazy`."""
    if isinstance(thing, Value):
        return known[thing.name] if lazy else turn(known[thing.name])
    if isinstance(thing, tuple | list):
        return [_read(part, known, lazy) for part in thing]
    if isinstance(thing, Mapping):
        return {name: _read(part, known, lazy) for name, part in thing.items()}
    return thing
