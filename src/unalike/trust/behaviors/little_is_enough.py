"""A little is enough: poisoned updates close enough to the mean to stay hidden.

    change of each of them  =  mean - z * deviation,        of the honest clients' changes, by coordinate

Baruch, Baruch and Goldberg, "A Little Is Enough: Circumventing Defenses For Distributed Learning" (2019).
Where z is not given it is the largest that still wins a majority: with n uploads, m of them lies and
s = floor(n / 2 + 1) - m supporters needed,

    z = Phi^-1((n - m - s) / (n - m)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax.scipy.stats import norm

from ...errors import ConfigError
from ...typing import Upload
from .base import Behavior, behavior_registry
from .honest_moments import honest_deviation, honest_mean, in_place_of


@behavior_registry.add("little-is-enough")
@dataclass(frozen=True)
class LittleIsEnough(Behavior):
    """All send the honest mean, shifted by z deviations in every coordinate; `little-is-enough:1.5`."""

    z: float | None = None

    replaces_changes: ClassVar[bool] = True
    colludes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.z is not None and (isinstance(self.z, str) or not abs(self.z) < float("inf")):
            raise ConfigError(f"z of little-is-enough must be a number, but is {self.z!r}.")

    def change_uploads(self, changes: Upload, honest: jax.Array, lying: jax.Array) -> Upload:
        z = largest_shift(honest.sum() + lying.sum(), lying.sum()) if self.z is None else self.z
        mean, deviation = honest_mean(changes, honest), honest_deviation(changes, honest)
        return in_place_of(changes, lying, jax.tree.map(lambda m, d: m - z * d, mean, deviation))


def largest_shift(uploads: jax.Array | int, lies: jax.Array | int) -> jax.Array:
    """How many deviations a lie may be off; 0 where no majority can be won, or lies have one already.

    >>> round(float(largest_shift(50, 24)), 2)  # 2 supporters of 26
    1.43
    """
    n, m = jnp.asarray(uploads, jnp.float32), jnp.asarray(lies, jnp.float32)
    supporters = jnp.floor(n / 2 + 1) - m
    honest = jnp.maximum(n - m, 1)
    share = (honest - supporters) / honest
    possible = (share > 0) & (share < 1)
    return jnp.where(possible, jnp.maximum(norm.ppf(jnp.where(possible, share, 0.5)), 0.0), 0.0)
