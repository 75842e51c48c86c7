"""ONNX graphs of recurrent models.

ONNX has whole layers, LSTM, GRU and RNN, over (time, rows, features), whose gates are in another order than
PyTorch's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..typing import Array
from .layers import Layer

if TYPE_CHECKING:
    from .onnx_graph import Graph

GATES = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn": (0,)}
"""Where ONNX's gates are among PyTorch's: i o f c among i f g o, and z r h among r z n."""
SETTINGS = {"gru": {"linear_before_reset": 1}}


def write_embedding(graph: Graph, layer: Layer) -> None:
    """Windows of symbols, turned so that time comes first, to vectors."""
    graph.add("Transpose", perm=[1, 0])
    symbols, graph.now = graph.now, graph.weight(f"{layer.name}.weight")[0]
    graph.add("Gather", symbols, axis=0)


def write_recurrent(graph: Graph, layer: Layer) -> None:
    """All steps of a layer; the next layer reads what every step gave."""
    index = layer.at.rpartition("/")[2]
    tensors = {
        kind: graph.weights[f"{layer.name}.{kind}_l{index}"]
        for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    }
    inputs, recurrent, *biases = (in_onnx_order(layer.kind, tensor) for tensor in tensors.values())
    names = [
        graph.constant(f"{layer.name}.{index}.{name}", value[None])
        for name, value in (("W", inputs), ("R", recurrent), ("B", np.concatenate(biases)))
    ]
    graph.add(layer.kind.upper(), *names, hidden_size=recurrent.shape[1], **SETTINGS.get(layer.kind, {}))
    graph.add("Squeeze", graph.constant("one direction", [1], np.int64))
    graph.by_time = True


def write_last_step(graph: Graph) -> None:
    """What the last step gave."""
    graph.add("Gather", graph.constant("last step", -1, np.int64), axis=0)
    graph.by_time = False


def in_onnx_order(kind: str, tensor: Array) -> Array:
    """A tensor whose first axis is gates times units, with ONNX's order of gates.

    >>> in_onnx_order("gru", np.arange(3)).tolist()
    [1, 0, 2]
    """
    gates = np.split(tensor, len(GATES[kind]))
    return np.concatenate([gates[place] for place in GATES[kind]])
