"""Random uploads.

    upload  =  message + N(0, std^2 I)

Blanchard, El Mhamdi, Guerraoui and Stainer, "Machine Learning with Adversaries: Byzantine Tolerant Gradient
Descent" (2017), call it a Gaussian attack; their deviation is 200.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import jax.numpy as jnp

from ...algorithms import ClientData
from ...core import pytrees
from ...errors import ConfigError
from ...typing import Memory, Upload
from .base import Behavior, Situation, behavior_registry
from .noise import standard_normal


@behavior_registry.add("random")
@dataclass(frozen=True)
class RandomUpload(Behavior):
    """Trains nothing, and sends a change that is Gaussian noise; `random:1` of standard deviation 1."""

    std: float = 1.0

    replaces_changes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= self.std < float("inf"):
            raise ConfigError(f"the std of random must not be negative, but is {self.std:g}.")

    def change_work(self, data: ClientData) -> ClientData:
        return replace(data, steps=jnp.zeros_like(data.steps))

    def change_upload(self, upload: Upload, now: Situation) -> tuple[Upload, Memory]:
        noise = standard_normal(now.key, now.message)
        return pytrees.add_scaled(now.message, self.std, noise), now.memory
