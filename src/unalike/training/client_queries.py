"""Client queries: what a participation asks clients before it samples.

Their loss with the current model (or with what they would make of it to predict), over all rows or over the
first mini-batch of the work that they would do, or the length of the update they would send. Each answer is
one number; whoever is asked has been sent the model.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..data.streams import Selection
from ..engine import Block, Engine, Setting
from ..engine.local.batches import plan_batches
from ..engine.local.rows import whole
from ..errors import unknown
from ..timing import Step
from ..typing import ClientIds, Float64s, Int64s
from .training_state import Progress

QUESTIONS = ("asked_loss", "asked_update_norm")
"""The groups of clients that were asked, by question."""


class ClientQueries:
    """Asks clients about the model of one round, and remembers who was asked."""

    def __init__(self, engine: Engine, number: int, now: Progress) -> None:
        self._engine, self._number, self._now = engine, number, now
        self.asked: dict[str, Int64s] = {}

    def __call__(self, question: str, clients: ClientIds) -> Float64s:
        known = {"loss": self._losses, "batch_loss": self._batch_losses, "update_norm": self._update_norms}
        if question not in known:
            raise unknown("question", question, known)
        if not len(clients):
            return np.zeros(0)
        name = f"asked_{question.removeprefix('batch_')}"  # one number each, whatever rows it is of
        self.asked[name] = np.union1d(self.asked.get(name, clients), clients)
        return known[question](clients)

    def _losses(self, clients: ClientIds) -> Float64s:
        """Each client's mean loss over its training rows."""
        everyone, now = len(self._engine.setting.federation), self._now
        many = 4 * len(clients) >= everyone  # all rows stay where they are, a selection is copied each time
        judged = np.arange(everyone) if many else clients
        losses = self._engine.evaluate(now.messages, now.memories, "train", self._number, judged)["loss"]
        return losses[clients] if many else losses

    def _batch_losses(self, clients: ClientIds) -> Float64s:
        """Each client's mean loss over the first mini-batch of the work that it would do in this round."""
        setting, now, ascending = self._engine.setting, self._now, np.unique(clients)
        batches = first_batches(setting, self._number, ascending)
        part = batches.only(setting.federation.train, ascending)
        found = self._engine.evaluate_rows(now.messages, now.memories, part, self._number, ascending)
        assert found is not None  # engines that cannot tell refuse such questions before a run
        return found["loss"][np.searchsorted(ascending, clients)]

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


def first_batches(setting: Setting, number: int, clients: ClientIds) -> Selection:
    """The rows with which these clients would begin their work of a round."""
    stream, train = setting.stream, setting.federation.train
    rows = whole(train, clients) if stream is None else stream.select(number, clients)
    work = replace(setting.algorithm.work, epochs=None, steps=1)
    sizes = np.diff(rows.offsets)
    first = plan_batches(work, sizes, clients, number, setting.seed, max(setting.most_rows(), 1)).positions
    taken = first[:, 0]
    places = (rows.offsets[:-1, None] + taken)[taken >= 0]
    drifted = None if rows.drifted is None else rows.drifted[places]
    offsets = np.concatenate([[0], np.cumsum((taken >= 0).sum(axis=1))])
    return Selection(rows.rows[places], offsets, None, drifted, rows.change)
