"""Sign flipping.

    upload  =  message - scale * change,        where change = honest upload - message

Li, Xu, Chen, Giannakis and Ling, "RSA: Byzantine-Robust Stochastic Aggregation Methods for Distributed
Learning from Heterogeneous Datasets" (2019), multiply by a negative number; here it is the change that is
multiplied, because uploads are models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core import pytrees
from ...errors import ConfigError
from ...typing import Memory, Upload
from .base import Behavior, Situation, behavior_registry


@behavior_registry.add("sign-flip")
@dataclass(frozen=True)
class SignFlip(Behavior):
    """Trains, and sends the change with the opposite sign; `sign-flip:4` four times as long."""

    scale: float = 1.0

    replaces_changes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.scale < float("inf"):
            raise ConfigError(f"the scale of sign-flip must be above 0, but is {self.scale:g}.")

    def change_upload(self, upload: Upload, now: Situation) -> tuple[Upload, Memory]:
        change = pytrees.subtract(upload, now.message)
        return pytrees.add_scaled(now.message, -self.scale, change), now.memory
