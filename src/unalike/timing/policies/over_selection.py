"""Over-selection: more clients are sent the model than are waited for."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...errors import ConfigError
from ..base import timing_registry
from .cohorts import CohortPolicy


@timing_registry.add("over-selection")
@dataclass
class OverSelection(CohortPolicy):
    """The first so many results of a larger cohort; the rest is given up."""

    take: int = 10
    weights: str = field(default="online", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.take < 1:
            raise ConfigError(f"over-selection must take at least one result, but takes {self.take}.")

    def wait(self) -> tuple[int, list[int]]:
        found = self.arrivals(count=self.take)
        self.leave_late()
        return self.taken(found)
