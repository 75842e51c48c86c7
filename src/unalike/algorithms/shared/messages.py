"""Messages to clients: one for all, or one for each.

With a server, everyone who starts from the same version is sent the same; without one, every client has a
model of its own. Whoever runs clients asks the messages, and never which kind of method it is.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np

from ...core import pytrees
from ...typing import Int64s, Message


class Messages(NamedTuple):
    """What some clients are sent; the order is that of the clients.

    >>> shared = Messages({"w": np.ones(2)})
    >>> each = Messages({"w": np.arange(3.0)}, np.array([2, 0]))
    >>> shared.per_client, each.per_client, float(each.of(0)["w"])
    (False, True, 2.0)
    """

    tree: Message
    """The message or, with `rows`, several of them along a leading axis."""
    rows: Int64s | None = None
    """Which of them each client is sent; None if all clients are sent the same."""

    @property
    def per_client(self) -> bool:
        """Whether clients are sent messages of their own."""
        return self.rows is not None

    def of(self, place: int) -> Message:
        """What the client in this place is sent."""
        return self.tree if self.rows is None else pytrees.row(self.tree, int(self.rows[place]))

    def select(self, places: Int64s) -> Messages:
        """The messages of some of the clients; nothing is copied."""
        return self if self.rows is None else Messages(self.tree, self.rows[places])

    def for_each(self, clients: int) -> Messages:
        """One for each of so many clients, also where they are all sent the same."""
        if self.rows is not None:
            return self
        return Messages(jax.tree.map(lambda leaf: np.asarray(leaf)[None], self.tree), np.zeros(clients, int))

    def stacked(self) -> Message:
        """Each client's own message, along a leading axis."""
        assert self.rows is not None, "there is one message for all."
        return jax.tree.map(lambda leaf: np.asarray(leaf)[self.rows], self.tree)

    def alone(self) -> Messages:
        """The same without the messages that nobody of these clients is sent, for sending them elsewhere."""
        if self.rows is None:
            return self
        needed, rows = np.unique(self.rows, return_inverse=True)
        return Messages(jax.tree.map(lambda leaf: np.asarray(leaf)[needed], self.tree), rows)

    def mean(self) -> Message:
        """What clients are sent on average: an observer's idea of the result where there is no server."""
        if self.rows is None:
            return self.tree
        return jax.tree.map(lambda leaf: leaf.mean(0), self.tree)
