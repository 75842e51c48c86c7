"""The problems' models in PyTorch, for every adapter that is built on it.

Weights come in the documented layout and are turned into PyTorch's; images are viewed as channels-first once.
An LSTM layer has one bias in the documented layout and two in PyTorch: the second is kept at zero and is not
trained, so that all frameworks compute the same function and take the same steps.
"""

from __future__ import annotations

import numpy as np
import torch
from common import Data, chunks, cores, layer_weights
from torch import nn


class LastStep(nn.Module):
    """Keeps the last step of a batch of sequences."""

    def forward(self, sequence: torch.Tensor) -> torch.Tensor:
        """From (batch, steps, units) to (batch, units)."""
        return sequence[:, -1]


class LSTM(nn.LSTM):
    """PyTorch's LSTM that returns the outputs only."""

    def forward(self, sequence: torch.Tensor) -> torch.Tensor:
        """From (batch, steps, inputs) to (batch, steps, units)."""
        return super().forward(sequence)[0]


def use_all_cores() -> None:
    """Let PyTorch use every core."""
    torch.set_num_threads(cores())


def build(data: Data) -> nn.Sequential:
    """The problem's model with its first weights."""
    modules: list[nn.Module] = []
    flattened: list[int] | None = None
    for index, layer in enumerate(data.hyper["layers"]):
        weights = layer_weights(data, index)
        modules += make(layer, weights, flattened)
        flattened = layer.get("shape") if layer["kind"] == "flatten" else None
    return nn.Sequential(*modules)


def make(layer: dict, weights: dict[str, np.ndarray], flattened: list[int] | None) -> list[nn.Module]:
    """The modules of one layer, filled with its weights."""
    if layer["kind"] == "dense":
        linear = nn.Linear(layer["in"], layer["out"])
        fill(linear.weight, channels_first_rows(weights["w"], flattened).T)
        fill(linear.bias, weights["b"])
        return [linear, nn.ReLU()] if layer["relu"] else [linear]
    if layer["kind"] == "conv":
        convolution = nn.Conv2d(layer["in"], layer["out"], layer["size"], padding=layer["padding"])
        fill(convolution.weight, weights["w"].transpose(3, 2, 0, 1))
        fill(convolution.bias, weights["b"])
        return [convolution, nn.ReLU()]
    if layer["kind"] == "embed":
        embedding = nn.Embedding(layer["symbols"], layer["width"])
        fill(embedding.weight, weights["w"])
        return [embedding]
    if layer["kind"] == "lstm":
        return [make_lstm(layer, weights)]
    return [{"pool": nn.MaxPool2d(2), "flatten": nn.Flatten(), "last": LastStep()}[layer["kind"]]]


def make_lstm(layer: dict, weights: dict[str, np.ndarray]) -> LSTM:
    """One LSTM layer; the gates are in PyTorch's order already."""
    lstm = LSTM(layer["in"], layer["units"], batch_first=True)
    fill(lstm.weight_ih_l0, weights["wi"].T)
    fill(lstm.weight_hh_l0, weights["wh"].T)
    fill(lstm.bias_ih_l0, weights["b"])
    fill(lstm.bias_hh_l0, np.zeros_like(weights["b"]))
    lstm.bias_hh_l0.requires_grad_(False)
    return lstm


def channels_first_rows(weight: np.ndarray, flattened: list[int] | None) -> np.ndarray:
    """Reorder a dense layer's rows from (height, width, channel) to PyTorch's (channel, height, width)."""
    if flattened is None:
        return weight
    return weight.reshape(*flattened, -1).transpose(2, 0, 1, 3).reshape(weight.shape)


def fill(parameter: torch.Tensor, value: np.ndarray) -> None:
    """Copy an array into a parameter."""
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(np.ascontiguousarray(value)))


def inputs(x: np.ndarray) -> torch.Tensor:
    """Rows as PyTorch wants them: images as channels-first views of the same memory, symbols as longs."""
    tensor = torch.from_numpy(x)
    if tensor.ndim == 4:
        return tensor.permute(0, 3, 1, 2)
    return tensor if tensor.is_floating_point() else tensor.long()


def labels(y: np.ndarray) -> torch.Tensor:
    """Class labels as PyTorch wants them."""
    return torch.from_numpy(y).long()


def trainable(model: nn.Module) -> list[nn.Parameter]:
    """The parameters that SGD moves."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


@torch.no_grad()
def logits(model: nn.Module, x_test: np.ndarray) -> np.ndarray:
    """The model's outputs on the test rows."""
    model.eval()
    x = inputs(x_test)
    return np.concatenate([model(x[part]).numpy() for part in chunks(len(x))])
