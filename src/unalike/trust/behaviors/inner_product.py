"""Inner product manipulation: dishonest clients turn the mean around.

    change of each of them  =  -epsilon * (mean change of the honest clients)

Xie, Koyejo and Gupta, "Fall of Empires: Breaking Byzantine-tolerant SGD by Inner Product Manipulation"
(2020): with a small epsilon the lies are shorter than most honest changes, so that rules which leave out what
is far away keep them, and the inner product of the result with the true mean may still be negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax

from ...core import pytrees
from ...errors import ConfigError
from ...typing import Upload
from .base import Behavior, behavior_registry
from .honest_moments import honest_mean, in_place_of


@behavior_registry.add("inner-product")
@dataclass(frozen=True)
class InnerProduct(Behavior):
    """All send the honest clients' mean change, turned around; `inner-product:0.5` of half its length."""

    epsilon: float = 0.5

    replaces_changes: ClassVar[bool] = True
    colludes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < float("inf"):
            raise ConfigError(f"epsilon of inner-product must be above 0, but is {self.epsilon:g}.")

    def change_uploads(self, changes: Upload, honest: jax.Array, lying: jax.Array) -> Upload:
        return in_place_of(changes, lying, pytrees.scale(-self.epsilon, honest_mean(changes, honest)))
