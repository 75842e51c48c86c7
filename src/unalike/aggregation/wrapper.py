"""What if an aggregator stands around another?  (A wrapper that hands on whatever it does not change.)

Monitors, ledgers and simulated conspiracies look at uploads or change them, and leave the mixing to a rule:
each says only what is different about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax

from ..algorithms import Algorithm, Reply
from ..participation import Participation
from ..timing import Step
from ..typing import Array, Message, Upload
from .base import Aggregator, Combined, Received, Uploads
from .tally import Tally


class AggregatorWrapper(Aggregator):
    """An aggregator around a `rule`; a subclass is a dataclass that has it as a field."""

    rule: Aggregator

    @property
    def sees_uploads(self) -> bool:  # type: ignore[override]
        return self.rule.sees_uploads

    @property
    def finishes(self) -> bool:  # type: ignore[override]
        return self.rule.finishes

    @property
    def draws(self) -> bool:  # type: ignore[override]
        return self.rule.draws

    @property
    def measures(self) -> bool:  # type: ignore[override]
        return self.rule.measures

    @property
    def observes(self) -> bool:  # type: ignore[override]
        return self.rule.observes

    @property
    def stepwise(self) -> bool:
        return super().stepwise or self.rule.stepwise

    @property
    def clip_at_client(self) -> float | None:
        return self.rule.clip_at_client

    def check(self, method: Algorithm, who: Participation, message: Message, reply: Reply) -> None:
        self.rule.check(method, who, message, reply)

    def check_cohort(self, most: int) -> None:
        self.rule.check_cohort(most)

    def admit(self, step: Step) -> Step:
        return self.rule.admit(step)

    def refusal(self, step: Step) -> str | None:
        return self.rule.refusal(step)

    def receive(self, upload: Upload, start: Message) -> Received:
        return self.rule.receive(upload, start)

    def combine(self, uploads: Uploads) -> Combined:
        return self.rule.combine(uploads)

    def finish(self, tally: Tally, heaviest: jax.Array, key: jax.Array) -> Tally:
        return self.rule.finish(tally, heaviest, key)

    def measure(self, uploads: Uploads, mean: Upload) -> Mapping[str, jax.Array]:
        return self.rule.measure(uploads, mean)

    def observe(self, step: Step, report: Mapping[str, Any]) -> tuple[dict[str, float], list[dict[str, Any]]]:
        return self.rule.observe(step, report) if self.rule.observes else ({}, [])

    def of_clients(self, step: Step) -> Mapping[str, Array]:
        return self.rule.of_clients(step)

    def state(self) -> dict[str, Array]:
        return self.rule.state()

    def restore(self, state: Mapping[str, Array]) -> None:
        self.rule.restore(state)
