"""What can a participation ask clients before it chooses among them?  (Client queries.)

Their loss with the current model (or with what they would make of it to predict), or the length of the update
they would send. Each answer is one number; whoever is asked has been sent the model.
"""

from __future__ import annotations

import numpy as np

from ..engine import Block, Engine
from ..errors import unknown
from ..timing import Step
from ..typing import ClientIds, Float64s, Int64s
from .progress import Progress

QUESTIONS = ("asked_loss", "asked_update_norm")
"""The groups of clients that were asked, by question."""


class ClientQueries:
    """Asks clients about the model of one round, and remembers who was asked."""

    def __init__(self, engine: Engine, number: int, now: Progress) -> None:
        self._engine, self._number, self._now = engine, number, now
        self.asked: dict[str, Int64s] = {}

    def __call__(self, question: str, clients: ClientIds) -> Float64s:
        answer = {"loss": self._losses, "update_norm": self._update_norms}.get(question)
        if answer is None:
            raise unknown("question", question, ("loss", "update_norm"))
        if not len(clients):
            return np.zeros(0)
        before = self.asked.get(f"asked_{question}", clients)
        self.asked[f"asked_{question}"] = np.union1d(before, clients)
        return answer(clients)

    def _losses(self, clients: ClientIds) -> Float64s:
        """Each client's mean loss over its training rows."""
        everyone, now = len(self._engine.setting.federation), self._now
        many = 4 * len(clients) >= everyone  # all rows stay where they are, a selection is copied each time
        judged = np.arange(everyone) if many else clients
        losses = self._engine.evaluate(now.messages, now.memories, "train", self._number, judged)["loss"]
        return losses[clients] if many else losses

    def _update_norms(self, clients: ClientIds) -> Float64s:
        """Let everyone work as in the round itself, and keep only the lengths."""
        step = Step(
            self._number,
            clients,
            np.full(len(clients), self._number),
            np.full(len(clients), 1 / len(clients)),
        )
        messages = self._now.messages.select(clients)
        outcome = self._engine.run(Block([step]), self._now.state, messages, self._now.memories)
        return np.asarray(outcome.reports[0]["update_norm"], np.float64)
