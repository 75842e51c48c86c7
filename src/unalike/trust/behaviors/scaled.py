"""Scaled updates (model replacement).

    upload  =  message + gamma * change,     gamma = 1 / (the client's weight) replaces the model by its own

Bagdasaryan, Veit, Hua, Estrin and Shmatikov, "How To Backdoor Federated Learning" (2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core import pytrees
from ...errors import ConfigError
from ...typing import Memory, Upload
from .base import Behavior, Situation, behavior_registry


@behavior_registry.add("scaled")
@dataclass(frozen=True)
class Scaled(Behavior):
    """Trains, and sends a change that is longer; `scaled:10` ten times as long."""

    gamma: float = 10.0

    replaces_changes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < abs(self.gamma) < float("inf"):
            raise ConfigError(f"gamma of scaled must be a number other than 0, but is {self.gamma:g}.")

    def change_upload(self, upload: Upload, now: Situation) -> tuple[Upload, Memory]:
        change = pytrees.subtract(upload, now.message)
        return pytrees.add_scaled(now.message, self.gamma, change), now.memory
