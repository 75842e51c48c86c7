"""ONNX files of PyTorch modules, written by PyTorch's own exporter.

The graph takes rows as a federation has them, images with their channels last, and turns them for the module,
as training does: a file of a module and one of a built-in model are used alike.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

from ..core.extras import import_extra
from ..errors import ConfigError
from ..typing import Params
from .pytorch_state_dict import load_into_module, to_torch_state_dict
from .task import Task
from .torch_export import import_torch


def write_torch_onnx(task: Task, params: Params, input_shape: tuple[int, ...], path: Path) -> None:
    """Write the module of a task with these parameters; checked by ONNX before it is written.

    Args:
        task: a task whose model was made of a PyTorch module.
        params: what was learned.
        input_shape: of a row.
        path: the file.
    """
    torch, onnx = import_torch("exporting to ONNX"), import_extra("onnx", "onnx", "exporting to ONNX")
    tensors = task.model.tensors
    assert tensors is not None
    module = load_into_module(tensors.source.module(), to_torch_state_dict(task, params))
    whole = tensors.row_type.startswith("int")
    rows = torch.zeros((2, *input_shape), dtype=torch.int64 if whole else torch.float32)
    buffer, sizes = io.BytesIO(), {"x": {0: "rows"}, "outputs": {0: "rows"}}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of itself, and of every shape that it cannot know
            torch.onnx.export(
                _reads_rows(torch, module, input_shape, tensors.row_shape),
                (rows,),
                buffer,
                input_names=["x"],
                output_names=["outputs"],
                dynamic_axes=sizes,
                dynamo=False,
            )
    except Exception as error:  # of many kinds
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ConfigError(f"PyTorch cannot write this module as ONNX: {first[:300]}") from error
    onnx.checker.check_model(onnx.load_from_string(buffer.getvalue()), full_check=True)
    path.write_bytes(buffer.getvalue())


def _reads_rows(torch: Any, module: Any, input_shape: tuple[int, ...], row_shape: tuple[int, ...]) -> Any:
    """The module behind the layout of a federation's rows."""
    turned = len(input_shape) == 3 and row_shape != input_shape

    class ReadsRows(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, x: Any) -> Any:
            x = x.permute(0, 3, 1, 2) if turned else x
            return self.module(x.reshape(-1, *row_shape))

    return ReadsRows().eval()
