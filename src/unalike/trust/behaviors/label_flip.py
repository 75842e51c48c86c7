"""Label flipping.

    y  ->  L - 1 - y          all L classes in reverse (Fang, Cao, Jia and Gong, "Local Model Poisoning
                              Attacks to Byzantine-Robust Federated Learning", 2020), or
    source  ->  target        one class passed off as another (Tolpegin, Truex, Gursoy and Liu, "Data
                              Poisoning Attacks Against Federated Learning Systems", 2020)

Only training rows are changed; the client then follows the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...data import Federation
from ...errors import ConfigError
from ...typing import ClientIds
from .base import Behavior, behavior_registry


@behavior_registry.add("label-flip")
@dataclass(frozen=True)
class LabelFlip(Behavior):
    """Trains on wrong labels: all classes in reverse, or with `label-flip:1,7` class 1 passed off as 7."""

    source: int | None = None
    target: int | None = None

    def __post_init__(self) -> None:
        if (self.source is None) != (self.target is None):
            raise ConfigError("label-flip needs both a source and a target class, or neither.")

    def change_data(self, federation: Federation, who: ClientIds) -> Federation:
        classes = federation.classes
        if classes is None:
            raise ConfigError("label-flip needs classes, but this is a regression; try sign-flip.")
        for label in (self.source, self.target):
            if label is not None and (not isinstance(label, int) or not 0 <= label < classes):
                raise ConfigError(f"classes of label-flip go from 0 to {classes - 1}, but one is {label}.")
        y, mine = np.array(federation.train.y), np.isin(federation.train.owners, who)
        if self.source is None or self.target is None:
            y[mine] = classes - 1 - y[mine]
        else:
            y[mine] = np.where(y[mine] == self.source, self.target, y[mine])
        return replace(federation, train=replace(federation.train, y=y))
