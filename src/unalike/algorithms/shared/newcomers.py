"""Newcomers: how personalized methods serve clients that join after training.

A client without memory makes one for itself before it predicts. Personalized methods that train for it plan
some passes over the newcomer's own rows; everyone else predicts with what it has, without further training.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ...errors import ConfigError
from ..base import Algorithm, LocalWork


@dataclass(frozen=True, kw_only=True)
class TrainsNewcomers(Algorithm):
    """The part of a personalized method that plans newcomers' training; to be inherited first."""

    newcomer_epochs: int = 1
    """Passes that a client which never took part makes over its rows before it predicts."""

    personalized: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_not_negative(newcomer_epochs=self.newcomer_epochs)

    @property
    def equals_local_training(self) -> bool:
        return False

    @property
    def evaluation_work(self) -> LocalWork:
        return replace(self.work, epochs=self.newcomer_epochs, steps=None)


def require_not_negative(**settings: float) -> None:
    """Refuse the first setting that is negative or not a number.

    >>> require_not_negative(lam=0.0)
    """
    for name, value in settings.items():
        if not value >= 0:
            raise ConfigError(f"{name} must not be negative, but is {value}.")


def require_fraction(**settings: float) -> None:
    """Refuse the first setting that is not between 0 and 1.

    >>> require_fraction(alpha=1.0)
    """
    for name, value in settings.items():
        if not 0 <= value <= 1:
            raise ConfigError(f"{name} must be between 0 and 1, but is {value}.")
