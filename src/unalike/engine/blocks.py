"""Blocks of steps that go to an engine together: successive rounds, or stale steps as one cohort."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..timing import Step
from ..typing import Int64s


class Block(NamedTuple):
    """Steps that go to the engine together: synchronous rounds that follow each other, or steps none of which
    starts from another's result."""

    steps: list[Step]
    rounds: int = 1
    """How many synchronous rounds such blocks hold at most; 1 for steps of another kind."""

    @property
    def clients(self) -> int:
        """How many clients work in it."""
        return sum(len(step.clients) for step in self.steps)

    @property
    def after(self) -> int:
        """The version of the model after its last step."""
        return self.steps[-1].number + 1


class BlockLimits(NamedTuple):
    """How much an engine takes at a time."""

    rounds: int = 1
    """Synchronous rounds."""
    clients: int = 1
    """Clients of steps that start from models which are there already."""


def one_cohort(steps: list[Step]) -> tuple[Step, Int64s]:
    """The clients of some steps as one, and where each step ends; no client is in two of them."""
    ends = np.cumsum([len(step.clients) for step in steps])
    if len(steps) == 1:
        return steps[0], ends
    jobs = [np.full(len(s.clients), s.number) if s.jobs is None else s.jobs for s in steps]
    clients, versions, weights = (
        np.concatenate([getattr(step, name) for step in steps]) for name in ("clients", "versions", "weights")
    )
    return Step(steps[0].number, clients, versions, weights, jobs=np.concatenate(jobs)), ends
