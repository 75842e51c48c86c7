"""Free-riders with tiny data: a single mini-batch, and a large declared size.

    upload  =  theta_t - rate * gradient on one mini-batch,        weighed as if it had thousands of rows

It stands for a free-rider with a handful of public rows; here they are the first mini-batch of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import jax.numpy as jnp

from ...algorithms import ClientData
from ...typing import Memory, Upload
from .base import Situation
from .free_rider import FreeRider


@dataclass(frozen=True)
class TinyDataFreeRider(FreeRider):
    """Trains on one mini-batch a round, and counts as if on many."""

    replaces_changes: ClassVar[bool] = False

    def change_work(self, data: ClientData) -> ClientData:
        return replace(data, steps=jnp.minimum(data.steps, 1))

    def change_upload(self, upload: Upload, now: Situation) -> tuple[Upload, Memory]:
        return upload, now.memory
