"""Round keepers, such as the history that unlearning needs."""

from __future__ import annotations

from typing import Protocol

from ..engine import Report
from ..timing import Step
from ..typing import State


class RoundKeeper(Protocol):
    """Is shown every round of a training, one at a time."""

    def begin(self, done: int, state: State) -> None:
        """Training begins, or goes on after `done` rounds with that state: forget what came later."""

    def keep(self, step: Step, report: Report, state: State) -> None:
        """A step was taken, with what was reported of its clients, and led to that state."""
