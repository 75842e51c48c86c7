"""Which steps can go to the engine together?

Synchronous rounds that follow each other with nothing due in between; or steps none of which starts from
another's result, because all the models they start from are there already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..timing import Step


class Blocks:
    """Groups steps; `room` bounds the clients of a block of stale steps, `due` says after which version
    something is to be looked at."""

    def __init__(self, room: int, due: Callable[[int], bool]) -> None:
        self.room, self._due = room, due
        self.hurried = False
        """Whether blocks should end as soon as they can, because the run is to stop."""
        self.holds_a_step = False
        """Whether a step has been taken from the timing that is not in a block yet."""

    def fresh(self, steps: Iterator[Step], most: int) -> Iterator[list[Step]]:
        """Rounds, up to `most` together; a round without clients comes alone."""
        block: list[Step] = []
        for step in steps:
            if len(step.clients) == 0 and block:
                yield block
                block = []
            block.append(step)
            if len(block) == most or self._ends_with(step):
                yield block
                block = []
        if block:
            yield block

    def stale(self, steps: Iterator[Step], done: Callable[[], int]) -> Iterator[list[Step]]:
        """Steps that start from models which are there before the block; `done` is the newest of these."""
        block: list[Step] = []
        clients: set[int] = set()
        for step in steps:
            if block and not self._joins(step, clients, done()):
                self.holds_a_step = True
                yield block
                block, clients, self.holds_a_step = [], set(), False
            block.append(step)
            clients.update(step.clients.tolist())
            # Alone in any case, so that the answer does not depend on where blocks begin.
            if len(clients) >= self.room or step.fresh or self.hurried or self._ends_with(step):
                yield block
                block, clients = [], set()
        if block:
            yield block

    def _joins(self, step: Step, clients: set[int], done: int) -> bool:
        if not len(step.clients) or len(clients) + len(step.clients) > self.room:
            return False
        if not clients.isdisjoint(step.clients.tolist()):  # a client remembers its earlier job in the later
            return False
        return int(step.versions.max()) <= done and not step.fresh

    def _ends_with(self, step: Step) -> bool:
        return len(step.clients) == 0 or self._due(step.number + 1)
