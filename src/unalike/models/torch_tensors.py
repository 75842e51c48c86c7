"""Tensors of a PyTorch module under the names of its `state_dict`: which are trained, which are state, and
which stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from ..errors import ConfigError
from ..typing import Array, Params, PyTree
from .module_state import Stateful
from .torch_source import Source


@dataclass(frozen=True, eq=False)
class ModuleTensors:
    """How a model's parameters are the `state_dict` of a module, and back."""

    names: tuple[str, ...]
    """Every tensor that the `state_dict` has, in its order."""
    trained: Mapping[str, str]
    """Parameters, with the name that holds the numbers: its own, or that of the one that it is tied to."""
    state: Mapping[str, str]
    """Buffers that training changes, with their types."""
    fixed: Mapping[str, Array]
    """Frozen parameters and buffers that nothing changes, also those that no `state_dict` has."""
    source: Source
    row_shape: tuple[int, ...]
    """Of a row as the module reads it."""
    row_type: str

    def pack(self, tensors: Mapping[str, Array]) -> Params:
        """The parameters of a model, of all tensors by name; state is made of floats, so that it has an
        average."""
        weights = {name: tensors[name] for name in dict.fromkeys(self.trained.values())}
        if not self.state:
            return weights
        return Stateful(weights, {name: tensors[name].astype(np.float32) for name in self.state})

    def unpack(self, params: Params) -> dict[str, PyTree]:
        """All tensors by name, of the parameters of a model."""
        weights, state = params if isinstance(params, Stateful) else (params, {})
        here = {name: weights[held] for name, held in self.trained.items()}
        return {**self.fixed, **here, **{name: _typed(state[name], self.state[name]) for name in state}}

    def state_dict(self, params: Params) -> dict[str, Array]:
        """What `load_state_dict` takes, as NumPy arrays."""
        tensors = self.unpack(params)
        wide = {name: np.int64 for name, kind in self.state.items() if kind == "int64"}
        return {name: np.array(tensors[name], wide.get(name), order="C") for name in self.names}

    def read(self, weights: Mapping[str, Array]) -> Params:
        """The parameters of a model from a `state_dict`; refused where it is that of another module."""
        for name in sorted(set(self.names) ^ set(weights)):
            raise ConfigError(
                f"{name!r} is {'missing' if name in self.names else 'no tensor of this module'}; its "
                f"state_dict has {', '.join(self.names)}."
            )
        for name, value in self.fixed.items():
            if name in weights and not np.array_equal(weights[name], value):
                raise ConfigError(
                    f"{name!r} is not trained and differs from the module's; load it into the module first, "
                    "by module.load_state_dict, and make the task of that."
                )
        return self.pack(weights)


def _typed(value: PyTree, kind: str) -> PyTree:
    """A number of the state as it is in the module."""
    if kind.startswith("float"):
        return value
    return jnp.round(value).astype("int32" if kind == "int64" else kind)
