"""The state of a training: server state, client memories and model versions."""

from __future__ import annotations

from dataclasses import dataclass

from ..algorithms import Messages
from ..engine import Block, Memories, Outcome
from ..typing import State
from .history import History


@dataclass
class Progress:
    """What changes from step to step."""

    state: State
    history: History
    memories: Memories
    done: int = 0
    """How many steps were taken; the version of the newest model."""

    @property
    def messages(self) -> Messages:
        """What all clients would be sent now."""
        return self.history.messages(self.done)

    def advance(self, block: Block, outcome: Outcome) -> Outcome:
        """The steps of a block were taken."""
        self.state, self.done = outcome.state, block.after
        self.history.advance(block, outcome)
        return outcome
