"""What can a participation ask clients before it chooses among them?

Their loss with the current model (or with what they would make of it to predict), or the length of the update
they would send. Each answer is one number; whoever is asked has been sent the model.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..core.pytrees import Tree
from ..engine import Engine, Memories, Messages, Setting
from ..errors import unknown
from ..timing import Step
from ..typing import ClientIds, Float64s, Int64s

QUESTIONS = ("asked_loss", "asked_update_norm")
"""The groups of clients that were asked, by question."""


class ClientQueries:
    """Asks clients about the model of one round, and remembers who was asked."""

    def __init__(
        self,
        setting: Setting,
        engine: Engine,
        number: int,
        state: Tree,
        messages: Mapping[int, Tree],
        memories: Memories,
    ) -> None:
        self._setting, self._engine, self._number, self._state = setting, engine, number, state
        self._message = messages[max(messages)]
        self._memories = memories
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
        everyone = len(self._setting.federation)
        many = 4 * len(clients) >= everyone  # all rows stay where they are, a selection is copied each time
        judged = np.arange(everyone) if many else clients
        losses = self._engine.evaluate(self._message, self._memories, "train", self._number, judged)["loss"]
        return losses[clients] if many else losses

    def _update_norms(self, clients: ClientIds) -> Float64s:
        """Let everyone work as in the round itself, and keep only the lengths."""
        step = Step(
            self._number,
            clients,
            np.full(len(clients), self._number),
            np.full(len(clients), 1 / len(clients)),
        )
        _, report = self._engine.run(step, self._state, Messages(self._message), self._memories)
        return np.asarray(report["update_norm"], np.float64)
