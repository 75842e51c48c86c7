"""The same federated averaging in Unalike, with the problem's PyTorch module as its model.

The module is that of the adapters that are built on PyTorch, with the same first weights: it is exported once
and computed by JAX, so that a round can be compared with that of the library's own model.
"""

from __future__ import annotations

import jax
from common import Data, read_job
from run_unalike import main
from torch_model import build, inputs

from unalike import Model, models
from unalike.typing import PyTree


def torch_model_of(data: Data) -> tuple[Model, PyTree]:
    """The problem's module as a model, and its first weights."""
    model = models.from_torch(build(data), inputs(data.x[:2]))
    return model, model.init(jax.random.key(0))


if __name__ == "__main__":
    main(read_job(), torch_model_of, "unalike-torch", "a PyTorch module")
