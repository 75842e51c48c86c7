"""State of Equinox modules, and the mask of padded rows.

A module with `eqx.nn.StateIndex` in it is called as `module(x, state)` for one sample and gives back what it
remembers, too. The state's arrays are floats here, so that they have an average; counters and flags are
rounded to what they were when the module is called. A batch normalization takes its statistics over a named
axis of all rows of a mini-batch, so in training another layer stands in its place, which leaves padding out
and lets it normalize by statistics that are put into its state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp

from ..core.extras import import_extra
from ..errors import ConfigError
from ..typing import Params, PyTree
from .module_state import Stateful, real_rows, update_state


@dataclass(frozen=True)
class StatefulModule:
    """The functions of a model, of a module and its state that were taken apart."""

    eqx: ModuleType
    build: Callable[[jax.Array], PyTree]
    module: PyTree
    state: PyTree
    """Both with shapes where there are arrays."""

    @classmethod
    def of(cls, eqx: ModuleType, build: Callable[[jax.Array], PyTree]) -> StatefulModule:
        made = eqx.filter_eval_shape(lambda key: with_own_state(eqx, build(key)), jax.random.key(0))
        return cls(eqx, build, *made)

    def init(self, key: jax.Array) -> Params:
        module, state = with_own_state(self.eqx, self.build(key))
        return Stateful(arrays_of(self.eqx, module), self._floats(state))

    def apply(self, params: Params, x: jax.Array) -> jax.Array:
        module = self.eqx.nn.inference_mode(fill(self.module, params.weights))
        state = self._remembered(params.state)
        return jax.vmap(lambda row: module(row, state)[0], axis_name=self._axis)(x)

    def apply_training(
        self, params: Params, x: jax.Array, weight: jax.Array, key: jax.Array | None
    ) -> tuple[jax.Array, PyTree]:
        module, state = fill(self.module, params.weights), self._remembered(params.state)
        real = real_rows(weight, weight).astype(jnp.float32)
        one = jax.vmap(
            lambda row, mine: _with_padding_mask(self.eqx, module, mine)(row, state),
            out_axes=(0, None),
            axis_name=self._axis,
        )
        with _explaining(self._axis):
            outputs, after = one(x, real)
        return outputs, update_state(weight, params.state, self._floats(after))

    @property
    def _axis(self) -> PyTree:
        """The name that batch normalizations have for the axis of rows."""
        names = {str(part.axis_name): part.axis_name for part in _norms(self.eqx, self.module)}
        if len(names) > 1:
            raise ConfigError(f"batch normalizations have several axis names ({', '.join(names)}); use one.")
        return next(iter(names.values()), "batch")

    def _floats(self, state: PyTree) -> PyTree:
        return {name: leaf.astype(jnp.float32) for name, leaf in arrays_of(self.eqx, state).items()}

    def _remembered(self, floats: PyTree) -> PyTree:
        shapes = jax.tree.leaves(self.state)
        cast = {str(i): _as_was(floats[str(i)], shape.dtype) for i, shape in enumerate(shapes)}
        return fill(self.state, cast)


def keeps_state(eqx: ModuleType, module: PyTree) -> bool:
    """Whether a module, or a pair with its state, remembers something."""
    is_index = lambda part: isinstance(part, eqx.nn.StateIndex)  # noqa: E731
    return any(map(is_index, jax.tree.leaves(module, is_leaf=is_index)))


def with_own_state(eqx: ModuleType, built: PyTree) -> tuple[PyTree, PyTree]:
    """A module and its state, from that pair or from a module that still holds its first state."""
    if isinstance(built, tuple):
        return built
    try:
        return eqx.nn.make_with_state(lambda: built)()
    except ValueError:
        raise ConfigError(
            "the Equinox module was parted from its state; give both, (module, state), as "
            "equinox.nn.make_with_state gave them."
        ) from None


def arrays_of(eqx: ModuleType, tree: PyTree) -> dict[str, jax.Array]:
    """The arrays of a module or a state by their number."""
    return {str(index): leaf for index, leaf in enumerate(jax.tree.leaves(eqx.filter(tree, eqx.is_array)))}


def fill(template: PyTree, arrays: Mapping[str, jax.Array]) -> PyTree:
    """The template with arrays in the places of shapes, in order."""
    leaves, structure = jax.tree.flatten(template)
    given = iter(arrays[str(index)] for index in range(len(arrays)))
    return jax.tree.unflatten(
        structure, [next(given) if isinstance(leaf, jax.ShapeDtypeStruct) else leaf for leaf in leaves]
    )


@contextmanager
def _explaining(axis: Any) -> Iterator[None]:
    """A state that differs from row to row is refused in words, not in those of `vmap`."""
    try:
        yield
    except ValueError as error:
        if "mapped output" not in str(error):
            raise
        raise ConfigError(
            "a layer of the Equinox module remembers something else for each row; take the mean over all "
            f"rows first, such as jax.lax.pmean(value, {axis!r})."
        ) from None


def _as_was(value: jax.Array, dtype: jnp.dtype) -> jax.Array:
    return (value if jnp.issubdtype(dtype, jnp.floating) else jnp.round(value)).astype(dtype)


def _norms(eqx: ModuleType, module: PyTree) -> list[PyTree]:
    is_norm = partial(_is_norm, eqx)
    return [part for part in jax.tree.leaves(module, is_leaf=is_norm) if is_norm(part)]


def _is_norm(eqx: ModuleType, part: object) -> bool:
    return isinstance(part, eqx.nn.BatchNorm)


def _with_padding_mask(eqx: ModuleType, module: PyTree, real: jax.Array) -> PyTree:
    """The module for one row, whose batch normalizations know whether it is real."""
    is_norm = partial(_is_norm, eqx)
    masked = _masked_layer_class()
    return jax.tree.map(lambda part: masked(part, real) if is_norm(part) else part, module, is_leaf=is_norm)


@cache
def _masked_layer_class() -> PyTree:
    """The layer that stands for a batch normalization in training."""
    eqx: Any = import_extra("equinox", "equinox", "this model")

    class Masked(eqx.nn.StatefulLayer):
        norm: PyTree
        real: jax.Array

        def __call__(self, x: jax.Array, state: PyTree, *, key: Any = None, inference: Any = None) -> PyTree:
            if self.norm.inference if inference is None else inference:
                return self.norm(x, state, inference=True)
            found = _statistics(x, self.real, self.norm.axis_name)
            return (_by_running if self.norm.mode == "ema" else _by_batch)(self.norm, found, x, state)

    return Masked


def _statistics(x: jax.Array, real: jax.Array, axis: Any) -> tuple[jax.Array, jax.Array]:
    """Mean and variance of each channel, the first axis of a row, over the rows that are real."""
    rows, pixels = jax.lax.psum(real, axis), x.reshape(len(x), -1)
    mean = jax.lax.psum(real * pixels.mean(1), axis) / rows
    return mean, jax.lax.psum(real * ((pixels - mean[:, None]) ** 2).mean(1), axis) / rows


def _by_running(norm: PyTree, found: tuple[jax.Array, ...], x: jax.Array, state: PyTree) -> PyTree:
    """Mode "ema": normalized by the running statistics, into which the mini-batch's are mixed first."""
    first, running = state.get(norm.ema_first_time_index), state.get(norm.ema_state_index)
    mixed = [
        jnp.where(first, new, old)
        for new, old in zip(found, _mix_statistics(norm, running, found), strict=True)
    ]
    state = state.set(norm.ema_state_index, tuple(mixed))
    return norm(x, state.set(norm.ema_first_time_index, first & False), inference=True)


def _by_batch(norm: PyTree, found: tuple[jax.Array, ...], x: jax.Array, state: PyTree) -> PyTree:
    """Mode "batch": normalized by the mini-batch's own statistics, as if they were all that is remembered."""
    counter, running = state.get(norm.batch_counter), state.get(norm.batch_state_index)
    alone = state.set(norm.batch_state_index, found).set(norm.batch_counter, 0 * counter)
    outputs, state = norm(x, alone, inference=True)
    state = state.set(norm.batch_state_index, _mix_statistics(norm, running, found))
    return outputs, state.set(norm.batch_counter, counter + 1)


def _mix_statistics(
    norm: PyTree, old: tuple[jax.Array, ...], new: tuple[jax.Array, ...]
) -> tuple[jax.Array, ...]:
    kept = norm.momentum
    return tuple(kept * before + (1 - kept) * now for before, now in zip(old, new, strict=True))
