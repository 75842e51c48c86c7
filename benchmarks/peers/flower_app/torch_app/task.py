"""The model and the rows of a node."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn


def model() -> nn.Module:
    """The same layers as the other side's `mlp:200,200`."""
    return nn.Sequential(nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, 10))


def rows(node: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Random images, the same for every start of a node."""
    rng = np.random.default_rng(node)
    x = rng.random((count, 784), dtype=np.float32)
    return torch.from_numpy(x), torch.from_numpy(rng.integers(0, 10, count))
