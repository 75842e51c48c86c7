"""Layers of built-in models, in order.

A model computes by a function, which other libraries cannot read. Built-in models also say what they compute
as a list of layers, from which their weights get PyTorch's names and their graph is written for ONNX.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LayerKind = Literal[
    "flatten",
    "image",
    "dense",
    "relu",
    "convolution",
    "max-pool",
    "layer-norm",
    "group-norm",
    "batch-norm",
    "embedding",
    "lstm",
    "gru",
    "rnn",
]


@dataclass(frozen=True)
class Layer:
    """One layer of a model."""

    kind: LayerKind
    at: str = ""
    """Where its parameters are, such as "dense/0"."""
    name: str = ""
    """What PyTorch calls it, such as "dense.0"."""
    channels: int = 1
    """Of what is flattened: PyTorch has them before height and width, Unalike after."""
    shape: tuple[int, ...] = ()
    """Of an image: height, width, channels."""
    same: bool = False
    """Whether a convolution is padded so that the image keeps its size."""
    groups: int = 1


def flatten_layer(input_shape: tuple[int, ...]) -> Layer:
    """The first layer of models that read rows of numbers.

    >>> flatten_layer((8, 8, 3)).channels, flatten_layer((13,)).channels
    (3, 1)
    """
    return Layer("flatten", channels=input_shape[-1] if len(input_shape) == 3 else 1)


def dense_layers(count: int, at: str = "", norm: str = "", kind: LayerKind = "layer-norm") -> list[Layer]:
    """So many dense layers with ReLU between them, below a path, with normalization where one is named.

    >>> [layer.name or layer.kind for layer in dense_layers(2)]
    ['dense.0', 'relu', 'dense.1']
    """
    found = []
    for index in range(count):
        found.append(Layer("dense", f"{at}{index}", f"dense.{index}"))
        if index < count - 1:
            found += [Layer(kind, f"{norm}{index}", f"norm.{index}")] if norm else []
            found.append(Layer("relu"))
    return found
