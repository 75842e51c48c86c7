"""The owner's policy of statistical disclosure control."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...errors import ConfigError, UnalikeError


class DisclosureError(UnalikeError):
    """A question that the disclosure policy of a node refuses; the message names the rule and no count."""


@dataclass(frozen=True)
class DisclosurePolicy:
    """Limits on what answers of a node may say about few rows.

    Args:
        minimum_cell_count: No count, and no difference of two row sets, is of fewer rows than this.
        maximum_leverage: The largest share of its squared weight that a linear combination of a model's
            columns may put on one row.
        maximum_questions: Different questions about one column that one asker may ask.
        maximum_rounds: Different coefficients at which one nonlinear model is evaluated.
        bin_edges: Edges of the bins of a column; round multiples of half a standard deviation otherwise.
    """

    minimum_cell_count: int = 5
    maximum_leverage: float = 0.5
    maximum_questions: int = 100
    maximum_rounds: int = 20
    bin_edges: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        counts = {
            "minimum_cell_count": self.minimum_cell_count,
            "maximum_questions": self.maximum_questions,
            "maximum_rounds": self.maximum_rounds,
        }
        for name, count in counts.items():
            if count < 1:
                raise ConfigError(f"{name} must be at least 1, got {count}.")
        if not 0 < self.maximum_leverage <= 1:
            raise ConfigError(f"maximum_leverage must be in (0, 1], got {self.maximum_leverage}.")
