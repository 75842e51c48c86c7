"""Aggregator wrappers: an aggregator around another rule, which forwards whatever it does not change.

Monitors, ledgers and simulated collusion look at uploads or change them, and leave the mixing to a rule.
"""

from __future__ import annotations

from typing import ClassVar

from ..core.forwarding import forward_members
from ..timing import Step
from ..typing import Event, Report
from .base import Aggregator
from .needs import AggregatorNeeds


@forward_members(Aggregator, to="rule", except_for=("hidden", "needs_key"))
class AggregatorWrapper(Aggregator):
    """An aggregator around a `rule`; a subclass is a dataclass that has it as a field."""

    rule: Aggregator
    adds: ClassVar[AggregatorNeeds] = AggregatorNeeds()
    """What it needs beside what the rule needs."""

    @property
    def needs(self) -> AggregatorNeeds:  # type: ignore[override]
        return self.rule.needs | self.adds

    @property
    def stepwise(self) -> bool:
        return super().stepwise or self.rule.stepwise

    def observe(self, step: Step, report: Report) -> tuple[dict[str, float], list[Event]]:
        return self.rule.observe(step, report) if self.rule.needs.observe else ({}, [])
