"""PyTorch modules as models: their operators, computed by JAX.

The module is exported once for training and once for evaluation (:mod:`.torch_export`); both graphs are
functions of its parameters, under the names of its `state_dict`. A module holds its parameters, so it is a
start of its own: every run begins where it is. Give a function that builds it (or its class), and every seed
begins elsewhere. Images are (channels, height, width) for the module: they are turned once.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import DTypeLike

from ..errors import ConfigError
from ..typing import Array, Params, PyTree
from .convolutional_networks import is_channels_first
from .model import Model
from .module_state import Stateful, choose_state, update_state
from .torch_export import as_array, export_graph, import_torch
from .torch_graph import Graph, Value
from .torch_source import Source, is_module
from .torch_tensors import ModuleTensors
from .unsupported_modules import check_library

_ROWS = 5
"""Of a mini-batch that a module is tried with: few, and not the number of channels that images have."""


def from_torch(make: Any, example: Any, state: str = "refuse") -> Model:
    """A `torch.nn.Module`, or a function without arguments that builds it, as a model.

    Args:
        make: The module, at which every run begins; or a function (or class) that builds one, so that every
            seed begins elsewhere.
        example: A mini-batch as the module reads it, a tensor or an array; its numbers do not matter.
        state: What becomes of buffers that training changes: `average`, `local` or `refuse`.
    """
    check_library(make, "torch", "from_torch")
    given = np.asarray(example.detach().cpu() if hasattr(example, "detach") else example)
    if given.ndim == 0:
        raise ConfigError("the example must be a mini-batch, such as torch.zeros(2, 3, 32, 32).")
    return _model_of(make, [(given.shape[1:], given.dtype)], state)


def torch_model_for(
    make: Any, input_shape: tuple[int, ...], dtype: DTypeLike = np.float32, state: str = "refuse"
) -> Model:
    """The model of a module that reads rows of this shape and type, in the layout that it takes them in."""
    return _model_of(make, readings_of(tuple(input_shape), np.dtype(dtype)), state)


def readings_of(shape: tuple[int, ...], dtype: np.dtype) -> list[tuple[tuple[int, ...], np.dtype]]:
    """The shapes and types in which a module may read rows, in the order in which they are tried.

    >>> [shape for shape, kind in readings_of((28, 28, 1), np.dtype("uint8"))]
    [(1, 28, 28), (28, 28, 1)]
    """
    shapes = [shape]
    if len(shape) == 3:
        turned = (shape[2], *shape[:2])
        shapes = [shape, turned] if is_channels_first(shape) else [turned, shape]
    elif len(shape) == 2:
        shapes = [shape, (1, *shape)]
    kinds = (
        [np.dtype(np.float32)] if dtype.kind == "f" or dtype == np.uint8 else [dtype, np.dtype(np.float32)]
    )
    return [(one, kind) for kind in kinds for one in shapes]


def _model_of(make: Any, readings: list[tuple[tuple[int, ...], np.dtype]], state: str) -> Model:
    check_library(make, "torch", "from_torch")
    if not (is_module(make) or callable(make)):
        raise ConfigError(
            f"from_torch takes a torch.nn.Module or a function that builds one, not a {type(make).__name__}."
        )
    import_torch("from_torch")
    built = _exported(make, readings)
    apply_training, choice = None, None
    if built.tensors.state:
        choice = choose_state(state, ", ".join(built.tensors.state))
        apply_training = built.apply_training
    noisy = not built.tensors.state and built.differs
    return Model(
        built.init,
        built.apply,
        built.features if built.inside is not None else None,
        built.apply_noisy if noisy else None,
        built.head,
        apply_training,
        choice,
        norms=built.norms,
        tensors=built.tensors,
    )


@dataclass(frozen=True, eq=False)
class TorchModule:
    """The functions of a model, of a module that was exported."""

    kind: str
    """The module's class, whose code counts where a run is resumed."""
    tensors: ModuleTensors
    start: Mapping[str, Array] | None
    """The module's tensors, where it is a start of its own."""
    computation: str
    """A digest of both graphs."""
    head: str | None
    """Where the parameters of the last layer are."""
    _training: Graph
    _evaluation: Graph
    inside: Value | None
    """What the last layer reads."""
    norms: tuple[str, ...]
    """Where the tensors of normalization layers are."""

    @property
    def differs(self) -> bool:
        """Whether training computes something else than evaluation."""
        return self._training.describe() != self._evaluation.describe()

    def init(self, key: jax.Array) -> Params:
        if self.start is not None:
            return jax.tree.map(jnp.asarray, self.tensors.pack(self.start))
        seed = jax.random.bits(key, (), jnp.uint32)
        if not isinstance(seed, jax.core.Tracer):
            return jax.tree.map(jnp.asarray, _fresh(self, int(seed)))
        shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), _fresh(self, 0))
        return jax.pure_callback(
            lambda number: _fresh(self, int(number)), shapes, seed, vmap_method="sequential"
        )

    def apply(self, params: Params, x: jax.Array) -> jax.Array:
        return self._evaluation.run(self.tensors.unpack(params), self._read(x))[0]

    def features(self, params: Params, x: jax.Array) -> jax.Array:
        return self._evaluation.run(self.tensors.unpack(params), self._read(x), until=self.inside)[0]

    def apply_noisy(self, params: Params, x: jax.Array, key: jax.Array | None) -> jax.Array:
        return self._training.run(self.tensors.unpack(params), self._read(x), key)[0]

    def apply_training(
        self, params: Params, x: jax.Array, weight: jax.Array, key: jax.Array | None
    ) -> tuple[jax.Array, PyTree]:
        outputs, buffers = self._training.run(self.tensors.unpack(params), self._read(x), key, weight)
        after = {name: jnp.asarray(value, jnp.float32) for name, value in buffers.items()}
        return outputs, update_state(weight, params.state, after)

    def _read(self, x: jax.Array) -> jax.Array:
        """Rows in the layout and type that the module reads: images are turned once."""
        shape, whole = tuple(x.shape[1:]), self.tensors.row_type.startswith("int")
        if whole or not jnp.issubdtype(x.dtype, jnp.floating):
            x = x.astype(jnp.int32 if whole else jnp.float32)
        if (
            len(shape) == 3
            and shape != self.tensors.row_shape
            and (shape[2], *shape[:2]) == self.tensors.row_shape
        ):
            return x.transpose(0, 3, 1, 2)
        if math.prod(shape) != math.prod(self.tensors.row_shape) or len(shape) > len(self.tensors.row_shape):
            raise ConfigError(f"rows have the shape {shape}, but the module reads {self.tensors.row_shape}.")
        return x.reshape(x.shape[0], *self.tensors.row_shape)


@lru_cache(maxsize=8)
def _fresh(module: TorchModule, seed: int) -> Params:
    return module.tensors.pack(_tensors_of(module.tensors.source.module(seed)))


def _exported(make: Any, readings: list[tuple[tuple[int, ...], np.dtype]]) -> TorchModule:
    """A module, exported in both modes for rows as it reads them."""
    source = Source(make)
    module = source.module()
    tensors = _tensors_of(module)
    name = type(module).__name__
    for parameter, value in module.named_parameters():
        if value.requires_grad and str(value.dtype) != "torch.float32":
            raise ConfigError(f"{name}'s {parameter} is of {value.dtype}; call module.float() first.")
    shape, dtype = _choose_reading(module, readings)
    example = _zeros(shape, dtype)
    training, evaluation = (export_graph(module, example, mode) for mode in (True, False))
    names = _split_tensors(module, tensors, training, source, (shape, str(dtype)))
    if not names.trained:
        raise ConfigError(
            f"{name} has no parameters that are trained; a module needs some with requires_grad."
        )
    head, inside = _last_layer(evaluation, names)
    words = "\n".join(graph.describe() for graph in (training, evaluation))
    made = TorchModule(
        f"{type(module).__module__}.{type(module).__qualname__}",
        names,
        None if source.builds else tensors,
        hashlib.sha256(words.encode()).hexdigest()[:32],
        head,
        training,
        evaluation,
        inside,
        _norms(evaluation, names),
    )
    _try_both(made, name)
    return made if inside is None or _is_flat(made) else replace(made, inside=None)


def _choose_reading(
    module: Any, readings: list[tuple[tuple[int, ...], np.dtype]]
) -> tuple[tuple[int, ...], np.dtype]:
    """The first reading of rows with which the module gives a row for each."""
    torch, failures = import_torch(), []
    module.eval()
    for shape, dtype in readings:
        try:
            with torch.no_grad():
                given = module(_zeros(shape, dtype))
        except Exception as error:  # whatever a module may raise
            failures.append(error)
            continue
        if getattr(given, "shape", (_ROWS,))[:1] == (_ROWS,):
            return shape, dtype
    if not failures:
        raise ConfigError(
            f"{type(module).__name__} does not give a row for each row of a mini-batch; its output must "
            "begin with the axis of rows."
        )
    said = str(failures[0]).strip().splitlines() or [type(failures[0]).__name__]
    raise ConfigError(
        f"{type(module).__name__} does not take rows of shape {readings[0][0]}: {said[0][:300]}."
    ) from failures[0]


def _zeros(shape: tuple[int, ...], dtype: np.dtype) -> Any:
    torch = import_torch()
    return torch.zeros((_ROWS, *shape), dtype=torch.int64 if dtype.kind in "iub" else torch.float32)


def _tensors_of(module: Any) -> dict[str, Array]:
    """All parameters and buffers by name, also those that are tied or not saved."""
    found = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    return {name: as_array(tensor) for name, tensor in found}


def _split_tensors(
    module: Any,
    tensors: Mapping[str, Array],
    training: Graph,
    source: Source,
    reads: tuple[tuple[int, ...], str],
) -> ModuleTensors:
    holders: dict[int, str] = {}
    trained = {
        name: holders.setdefault(id(tensor), name)
        for name, tensor in module.named_parameters(remove_duplicate=False)
        if tensor.requires_grad
    }
    kinds = {n: str(t.dtype).removeprefix("torch.") for n, t in module.named_buffers(remove_duplicate=False)}
    state = {name: kinds[name] for name in sorted(training.buffers)}
    fixed = {name: array for name, array in tensors.items() if name not in trained and name not in state}
    return ModuleTensors(tuple(module.state_dict()), trained, state, fixed, source, *reads)


def _last_layer(graph: Graph, tensors: ModuleTensors) -> tuple[str | None, Value | None]:
    """Where the parameters of the last layer are, and what it reads, if it is a dense one."""
    for operation in reversed(graph.operations):
        read = [part for part in operation.arguments if isinstance(part, Value)]
        names = [graph.inputs[part.name] for part in read if part.name in graph.inputs]
        if any(name in tensors.trained for name in names):
            layer = tensors.trained.get(names[0], "").rpartition(".")[0]
            if operation.operator != "aten.linear.default" or not layer:
                return None, None
            return f"weights/{layer}" if tensors.state else layer, read[0]
    return None, None


def _norms(graph: Graph, tensors: ModuleTensors) -> tuple[str, ...]:
    """Where the parameters and statistics of normalization layers are."""
    layers: dict[str, None] = {}
    for operation in graph.operations:
        read = [part.name for part in operation.arguments if isinstance(part, Value)]
        if "norm" in operation.operator and "vector_norm" not in operation.operator:
            names = [graph.inputs[value] for value in read if value in graph.inputs]
            layers.update(dict.fromkeys(name.rpartition(".")[0] or name for name in names))
    roots = ("weights/", "state/") if tensors.state else ("",)
    return tuple(f"{root}{layer}" for layer in layers for root in roots)


def _is_flat(module: TorchModule) -> bool:
    """Whether the last layer reads a row of numbers per sample."""
    rows = jax.ShapeDtypeStruct((_ROWS, *module.tensors.row_shape), module.tensors.row_type)
    params = jax.eval_shape(module.init, jax.random.key(0))
    return bool(jax.eval_shape(module.features, params, rows).ndim == 2)


def _try_both(module: TorchModule, name: str) -> None:
    """Trace both modes, so that what cannot be computed is refused now."""
    rows = jax.ShapeDtypeStruct((_ROWS, *module.tensors.row_shape), module.tensors.row_type)
    params = jax.eval_shape(module.init, jax.random.key(0))
    outputs = [jax.eval_shape(module.apply, params, rows)]
    if isinstance(params, Stateful):
        weight = jax.ShapeDtypeStruct((_ROWS,), jnp.float32)
        outputs.append(jax.eval_shape(module.apply_training, params, rows, weight, jax.random.key(0))[0])
    else:
        outputs.append(jax.eval_shape(module.apply_noisy, params, rows, jax.random.key(0)))
    for output in outputs:
        if output.ndim == 0 or output.shape[0] != _ROWS:
            raise ConfigError(
                f"{name} gives an output of shape {output.shape} for {_ROWS} rows; its first axis must be "
                "that of rows."
            )
