"""PyTorch's names and layouts (`state_dict`) of weights, both ways, without PyTorch.

Every tensor of a built-in model has one of PyTorch's names and, in other layouts, the same numbers:

    dense         (outputs, inputs)                           the same
    convolution   (height, width, inputs, outputs)            (outputs, inputs, height, width)
    recurrent     (inputs, gates x units), gates as PyTorch   transposed
    columns of a flattened image, (height, width, channels)   (channels, height, width)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open

from ..core.plain_files import check_plain_file
from ..core.pytrees import by_path
from ..errors import ConfigError
from ..typing import Array, Params
from .layers import Layer
from .model import Model
from .task import Task
from .torch_export import import_torch

_RECURRENT = {"wi": "weight_ih", "wh": "weight_hh", "bi": "bias_ih", "bh": "bias_hh"}
_COUNTER = ".num_batches_tracked"
"""What PyTorch's batch normalization counts and does not use."""
_PICKLED = (b"PK\x03\x04", b"\x80")
"""How an archive of torch.save and a bare pickle begin."""
_TRANSPOSED = {"convolution": (3, 2, 0, 1), "wi": (1, 0), "wh": (1, 0)}


class Renamed(NamedTuple):
    """A tensor here and in PyTorch."""

    path: str
    name: str
    axes: tuple[int, ...] | None = None
    """The transposition from here to there."""
    channels: int = 1
    """Of the flattened image whose columns are in another order there."""

    def there(self, tensor: Array) -> Array:
        """The same numbers in PyTorch's layout."""
        moved = tensor if self.axes is None else tensor.transpose(self.axes)
        return np.ascontiguousarray(_regroup_columns(moved, -1, self.channels))

    def here(self, tensor: Array) -> Array:
        """The inverse of :meth:`there`."""
        moved = _regroup_columns(tensor, self.channels, -1)
        return moved if self.axes is None else moved.transpose(np.argsort(self.axes))


def to_torch_state_dict(task: Task, params: Params) -> dict[str, Array]:
    """The weights of a built-in model, or of one made of a PyTorch module, under PyTorch's names and in its
    layouts, as NumPy arrays.

    >>> from unalike.models import linear
    >>> task = Task.classification(linear(input_shape=(4,), outputs=3), classes=3)
    >>> weights = to_torch_state_dict(task, task.init(jax.random.key(0)))
    >>> {name: tensor.shape for name, tensor in weights.items()}
    {'weight': (3, 4), 'bias': (3,)}
    """
    if task.model.tensors is not None:
        return task.model.tensors.state_dict(params)
    tensors = by_path(params)
    return {one.name: one.there(np.asarray(tensors[one.path])) for one in rename_tensors(task.model)}


def load_torch_weights(task: Task, weights: Mapping[str, object] | str | Path) -> Task:
    """The task with a model that starts from these weights: a `state_dict`, a module that has one, or a
    safetensors file of one."""
    found = _read(Path(weights)) if isinstance(weights, str | Path) else weights
    found = found.state_dict() if hasattr(found, "state_dict") else found
    if not isinstance(found, Mapping):
        raise ConfigError(
            f"weights must be a state_dict, a module that has one, or a safetensors file, not {weights!r}."
        )
    if task.model.tensors is not None:
        start = task.model.tensors.read({name: _array(tensor) for name, tensor in found.items()})
        return replace(task, model=replace(task.model, init=lambda key: jax.tree.map(jnp.asarray, start)))
    found = {name: tensor for name, tensor in found.items() if not name.endswith(_COUNTER)}
    table = {one.name: one for one in rename_tensors(task.model)}
    for name in sorted(set(table) ^ set(found)):
        raise ConfigError(
            f"{name!r} is {'missing' if name in table else 'no tensor of this model'}; the state_dict of the "
            f"task's model has {', '.join(table)}."
        )
    shapes, structure = jax.tree.flatten(jax.eval_shape(task.init, jax.random.key(0)))
    paths = list(by_path(jax.tree.unflatten(structure, shapes)))
    by_place = {one.path: one.here(_array(found[name])) for name, one in table.items()}
    for path, shape in zip(paths, shapes, strict=True):
        if by_place[path].shape != shape.shape:
            raise ConfigError(f"{path} has shape {by_place[path].shape}, but the model has {shape.shape}.")
    leaves = [jnp.asarray(by_place[path], shape.dtype) for path, shape in zip(paths, shapes, strict=True)]
    params = jax.tree.unflatten(structure, leaves)
    return replace(task, model=replace(task.model, init=lambda key: params))


def to_torch(run: Any, module: Any = None, client: int | str | None = None) -> Any:
    """A PyTorch module with what a run has learned, for predictions (in its mode of evaluation).

    Args:
        run: A run, of a PyTorch module or of a built-in model.
        module: The module to load into, and to give back; one like that of the run's task when not given.
        client: The client whose own model is meant, by name or number.
    """
    import_torch("to_torch")
    task = run.setting.task
    weights = to_torch_state_dict(task, run.trained_model(client))
    if module is None:
        if task.model.tensors is None:
            raise ConfigError(
                "the run's model was not made of a PyTorch module; give one to load into, such as those of "
                "docs/from_pytorch.md."
            )
        module = task.model.tensors.source.module()
    return load_into_module(module, weights)


def load_into_module(module: Any, weights: Mapping[str, Array]) -> Any:
    """A PyTorch module with these weights, in its mode of evaluation."""
    torch = import_torch("to_torch")
    here = {name: torch.from_numpy(np.array(tensor)) for name, tensor in weights.items()}
    counters = {name: tensor for name, tensor in module.state_dict().items() if name.endswith(_COUNTER)}
    try:
        module.load_state_dict({**counters, **here})
    except RuntimeError as error:
        said = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise ConfigError(f"the run's weights do not fit {type(module).__name__}: {said[-1]}") from None
    return module.eval()


def rename_tensors(model: Model) -> list[Renamed]:
    """Every tensor of a built-in model; refused for others."""
    if not model.layers:
        raise ConfigError(
            "only built-in models of layers (`unalike list models`) and PyTorch modules are known under "
            "PyTorch's names; another model of your own is saved under its own by "
            "unalike.runs.tensors.save_tensors."
        )
    paths, channels, found = set(by_path(jax.eval_shape(model.init, jax.random.key(0)))), 1, []
    for layer in model.layers:
        found += [one for one in _of_layer(layer, channels) if one.path in paths]
        channels = layer.channels if layer.kind == "flatten" else 1
    return found


def _of_layer(layer: Layer, channels: int) -> Iterator[Renamed]:
    """The tensors of a layer, which may have fewer."""
    at, name = (f"{word}{sign}" if word else "" for word, sign in ((layer.at, "/"), (layer.name, ".")))
    if layer.kind in ("dense", "convolution"):
        yield Renamed(f"{at}w", f"{name}weight", _TRANSPOSED.get(layer.kind), channels)
        yield Renamed(f"{at}b", f"{name}bias")
    elif layer.kind in ("layer-norm", "group-norm", "batch-norm"):
        yield Renamed(f"{at}scale", f"{name}weight")
        yield Renamed(f"{at}shift", f"{name}bias")
        state = at.replace("weights/", "state/", 1)
        yield Renamed(f"{state}mean", f"{name}running_mean")
        yield Renamed(f"{state}variance", f"{name}running_var")
    elif layer.kind == "embedding":
        yield Renamed(layer.at, f"{name}weight")
    elif layer.kind in ("lstm", "gru", "rnn"):
        index = layer.at.rpartition("/")[2]
        for ours, theirs in _RECURRENT.items():
            yield Renamed(f"{at}{ours}", f"{name}{theirs}_l{index}", _TRANSPOSED.get(ours))


def _regroup_columns(tensor: Array, first: int, second: int) -> Array:
    """Columns of (first, second) in the order of (second, first)."""
    if tensor.ndim != 2 or 1 in (first, second):
        return tensor
    return tensor.reshape(len(tensor), first, second).swapaxes(1, 2).reshape(len(tensor), -1)


def _array(tensor: object) -> Array:
    """A tensor of whatever library, as an array."""
    return np.asarray(tensor.detach() if hasattr(tensor, "detach") else tensor)


def _read(path: Path) -> dict[str, Array]:
    try:
        check_plain_file(path, None)
        with safe_open(path, framework="np") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        if path.is_file() and _first_bytes(path).startswith(_PICKLED):
            raise ConfigError(
                f"{path} looks like a file of torch.save, which is pickled and not read; write the weights "
                "with safetensors.torch.save_file(model.state_dict(), path)."
            ) from None
        raise ConfigError(f"{path} cannot be read as a safetensors file: {error}.") from None


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)
