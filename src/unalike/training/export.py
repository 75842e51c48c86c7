"""Model export: safetensors with PyTorch's names, ONNX.

What leaves is one model of the task: the one that all share, or what one client predicts with.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
from safetensors.numpy import save_file

from ..algorithms import Algorithm
from ..core.pytrees import by_path
from ..errors import ConfigError, unknown
from ..models import Task
from ..models.onnx_graph import write_onnx
from ..models.pytorch_state_dict import to_torch_state_dict
from ..runs.atomic import replacing
from ..typing import Params
from .run import Run


def export(run: Run, path: str | Path, format: str | None = None, client: int | str | None = None) -> Path:
    """Write what a run has learned as a file of that format (as the path ends, when not given): the shared
    model, or a client's own."""
    path = Path(path)
    format = format or path.suffix.removeprefix(".")
    if format not in WRITERS:
        raise unknown("format of export", format, WRITERS)
    params = find_trained_model(run, client)
    shape = run.setting.federation.input_shape
    with replacing(path) as temporary:
        WRITERS[format](run.setting.task, params, shape, temporary)
    return path


def find_trained_model(run: Run, client: int | str | None = None) -> Params:
    """The model that all share, or the one that a client predicts with; refused where it is not one model."""
    algorithm = run.setting.algorithm
    if client is None and run.messages.per_client:
        raise ConfigError("every client has a model of its own here; say whose with --client NAME.")
    if client is None and algorithm.personalized:
        found, hint = run.message, "say whose with --client NAME"
    else:
        found, hint = run.predictor(client).parameters, "export needs one model"
    _check_one_model(run.setting.task, algorithm, found, hint)
    return found


def _check_one_model(task: Task, algorithm: Algorithm, found: Params, hint: str) -> None:
    wanted = by_path(jax.eval_shape(task.init, jax.random.key(0)))
    if {k: v.shape for k, v in wanted.items()} != {k: jnp.shape(v) for k, v in by_path(found).items()}:
        raise ConfigError(
            f"what {algorithm.name or type(algorithm).__name__} predicts with is not one model of the task; "
            f"{hint}."
        )


def _write_safetensors(task: Task, params: Params, input_shape: tuple[int, ...], path: Path) -> None:
    # No metadata: safetensors would write several keys in a random order, and equal models are equal bytes.
    save_file(to_torch_state_dict(task, params), path)


WRITERS: dict[str, Callable[[Task, Params, tuple[int, ...], Path], None]] = {
    "safetensors": _write_safetensors,
    "onnx": write_onnx,
}
"""What can be written, by its name and the end of a file's."""
