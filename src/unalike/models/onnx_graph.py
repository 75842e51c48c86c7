"""ONNX graphs of built-in models.

The graph takes rows as Unalike does, floats of (rows, *input shape), or whole numbers where these are
symbols, and gives the same outputs. Models are written layer by layer; images are turned to ONNX's (channels,
height, width) once, at the start.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ..core.extras import import_extra
from ..errors import ConfigError
from ..typing import Array, Params
from .layers import Layer
from .normalized import EPSILON
from .onnx_recurrent import GATES, write_embedding, write_last_step, write_recurrent
from .pytorch_state_dict import to_torch_state_dict
from .task import Task
from .torch_onnx import write_torch_onnx

if TYPE_CHECKING:
    from onnx import NodeProto

OPERATORS, FILES = 18, 9
"""The versions of ONNX's operators and of its files: old enough for the runtimes that people have."""


@dataclass
class Graph:
    """The nodes and tensors of a graph that grows layer by layer."""

    onnx: ModuleType
    weights: dict[str, Array]
    nodes: list[NodeProto] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    now: str = "x"
    """What the last node gave."""
    by_time: bool = False
    """Whether it gave something for every step of time."""

    def add(self, kind: str, *tensors: str, **settings: Any) -> None:
        """A node that reads what the last one gave, and these tensors."""
        given = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, [self.now, *tensors], [given], **settings))
        self.now = given

    def constant(self, name: str, value: ArrayLike, dtype: DTypeLike = np.float32) -> str:
        """A tensor of the graph, by its name."""
        self.constants[name] = np.asarray(value, dtype, order="C")
        return name

    def weight(self, name: str) -> list[str]:
        """A tensor of the model, if it has it."""
        return [self.constant(name, self.weights[name])] if name in self.weights else []


def write_onnx(task: Task, params: Params, input_shape: tuple[int, ...], path: Path) -> None:
    """Write the model of a task with these parameters; checked by ONNX before it is written."""
    if task.model.tensors is not None:
        write_torch_onnx(task, params, input_shape, path)
        return
    onnx = import_extra("onnx", "onnx", "exporting to ONNX")
    graph = Graph(onnx, to_torch_state_dict(task, params))
    for layer in task.model.layers:
        _write_layer(graph, layer)
    float32, int64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
    read = int64 if task.model.layers[0].kind == "embedding" else float32
    body = onnx.helper.make_graph(
        graph.nodes,
        "unalike",
        [onnx.helper.make_tensor_value_info("x", read, ["rows", *input_shape])],
        [onnx.helper.make_tensor_value_info(graph.now, float32, ["rows", None])],
        [onnx.numpy_helper.from_array(value, name) for name, value in graph.constants.items()],
    )
    operators = [onnx.helper.make_opsetid("", OPERATORS)]
    model = onnx.helper.make_model(body, opset_imports=operators, ir_version=FILES, producer_name="unalike")
    onnx.checker.check_model(model, full_check=True)
    path.write_bytes(model.SerializeToString())


def _write_layer(graph: Graph, layer: Layer) -> None:
    bias = graph.weight(f"{layer.name}.bias" if layer.name else "bias")
    weight = graph.weight(f"{layer.name}.weight" if layer.name else "weight")
    if graph.by_time and layer.kind not in GATES:
        write_last_step(graph)
    if layer.kind == "image":
        graph.add("Reshape", graph.constant("image", (-1, *layer.shape), np.int64))
        graph.add("Transpose", perm=[0, 3, 1, 2])
    elif layer.kind == "flatten":
        if graph.now == "x" and layer.channels > 1:
            graph.add("Transpose", perm=[0, 3, 1, 2])
        graph.add("Flatten", axis=1)
    elif layer.kind == "relu":
        graph.add("Relu")
    elif layer.kind == "max-pool":
        graph.add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    elif layer.kind == "dense":
        graph.add("Gemm", *weight, *bias, transB=1)
    elif layer.kind == "convolution":
        graph.add("Conv", *weight, *bias, auto_pad="SAME_UPPER" if layer.same else "VALID")
    elif layer.kind == "layer-norm":
        graph.add("LayerNormalization", *weight, *bias, axis=-1, epsilon=EPSILON)
    elif layer.kind == "batch-norm":
        running = [graph.weight(f"{layer.name}.running_{what}")[0] for what in ("mean", "var")]
        graph.add("BatchNormalization", *weight, *bias, *running, epsilon=EPSILON)
    elif layer.kind == "group-norm":
        _write_group_norm(graph, layer, weight[0], bias[0])
    elif layer.kind == "embedding":
        write_embedding(graph, layer)
    elif layer.kind in GATES:
        write_recurrent(graph, layer)
    else:
        raise ConfigError(
            f"a model with a layer of kind {layer.kind!r} cannot be exported to ONNX; safetensors holds "
            "every built-in model."
        )


def _write_group_norm(graph: Graph, layer: Layer, scale: str, shift: str) -> None:
    """Each sample's groups as channels of an instance normalization, for ONNX's own changed its meaning."""
    before = graph.now
    graph.nodes.append(graph.onnx.helper.make_node("Shape", [before], [f"{before}_shape"]))
    graph.add("Reshape", graph.constant(f"{layer.name}.groups", (0, layer.groups, -1), np.int64))
    ones = graph.constant(f"{layer.name}.ones", np.ones(layer.groups))
    zeros = graph.constant(f"{layer.name}.zeros", np.zeros(layer.groups))
    graph.add("InstanceNormalization", ones, zeros, epsilon=EPSILON)
    graph.add("Reshape", f"{before}_shape")
    for kind, name in (("Mul", scale), ("Add", shift)):
        graph.constants[name] = graph.constants[name].reshape(-1, 1, 1)
        graph.add(kind, name)
