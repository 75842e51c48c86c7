"""Blocks of steps for the engine: synchronous rounds, or stale steps.

Synchronous rounds that follow each other with nothing due in between; or steps none of which starts from
another's result, because all the models they start from are there already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..engine import Block, BlockLimits, Engine
from ..participation import Participation
from ..timing import Step, Timing
from .cadence import Cadence
from .interrupts import Interrupts, StoppedWaitingError
from .steps import Cohorts, Steps
from .training_state import Progress


def choose_limits(
    engine: Engine,
    participation: Participation,
    timing: Timing,
    cadence: Cadence,
    cohorts: Cohorts,
    now: Progress,
) -> BlockLimits:
    """How many steps go to the engine together: several only if nobody looks at what is between them."""
    message, looked_at = now.messages.tree, bool(participation.learns or participation.asks)
    if looked_at or now.history.keeps_all:
        return BlockLimits()
    if not timing.traits.always_fresh:
        return BlockLimits(1, engine.limits(np.zeros(0, np.int64), message).clients)
    if now.memories or participation.remembers or cadence.often <= 1:
        return BlockLimits()
    return BlockLimits(min(cadence.often, engine.limits(cohorts(0).clients, message).rounds))


class Blocks:
    """The blocks of a run, until it is over or is to stop."""

    def __init__(
        self,
        steps: Steps,
        limits: BlockLimits,
        cadence: Cadence,
        now: Progress,
        interrupts: Interrupts,
        enough: Callable[[], bool] = lambda: False,
    ) -> None:
        self._steps, self._cadence, self._now, self._interrupts = steps, cadence, now, interrupts
        self._enough = enough
        self._group = GroupSteps(limits, cadence.is_due)
        self.stopped = False
        """Whether the run was stopped before it was over."""

    @property
    def refused(self) -> str | None:
        """Why training ended before its last step, where the aggregator refused one."""
        return self._steps.refused

    def __iter__(self) -> Iterator[Block]:
        if self._enough():  # a run that goes on may have been good enough when it ended
            return
        steps = self._steps.between(self._now.done, self._cadence.rounds)
        fresh = self._steps.timing.traits.always_fresh
        blocks = self._group.fresh(steps) if fresh else self._group.stale(steps, lambda: self._now.done)
        try:
            for block in blocks:
                yield block
                # Read once: between two readings the signal may arrive.
                stop, enough = self._interrupts.stop_requested, self._enough()
                self._group.finish_soon = stop or enough
                unfinished = self._now.done < self._cadence.rounds
                if (stop or enough) and unfinished and not self._group.has_pending_step:
                    self.stopped = not enough
                    return
        except StoppedWaitingError:  # nobody waits for the next step; what was done before it is whole
            self.stopped = True


class GroupSteps:
    """Groups steps; `limits` bound a block, `due` says after which version something is to be looked at."""

    def __init__(self, limits: BlockLimits, due: Callable[[int], bool]) -> None:
        self.limits, self._due = limits, due
        self.finish_soon = False
        """Whether blocks should end as soon as they can, because the run is to stop."""
        self.has_pending_step = False
        """Whether a step has been taken from the timing that is not in a block yet."""

    def fresh(self, steps: Iterator[Step]) -> Iterator[Block]:
        """Rounds, up to the limit together; a round without clients comes alone."""
        most = self.limits.rounds
        block: list[Step] = []
        for step in steps:
            if len(step.clients) == 0 and block:
                yield Block(block, most)
                block = []
            block.append(step)
            if len(block) == most or self._ends_with(step):
                yield Block(block, most)
                block = []
        if block:
            yield Block(block, most)

    def stale(self, steps: Iterator[Step], done: Callable[[], int]) -> Iterator[Block]:
        """Steps that start from models which are there before the block; `done` is the newest of these."""
        block: list[Step] = []
        clients: set[int] = set()
        for step in steps:
            if block and not self._joins(step, clients, done()):
                self.has_pending_step = True
                yield Block(block)
                block, clients, self.has_pending_step = [], set(), False
            block.append(step)
            clients.update(step.clients.tolist())
            # Alone in any case, so that the answer does not depend on where blocks begin.
            full = len(clients) >= self.limits.clients
            if full or step.fresh or self.finish_soon or self._ends_with(step):
                yield Block(block)
                block, clients = [], set()
        if block:
            yield Block(block)

    def _joins(self, step: Step, clients: set[int], done: int) -> bool:
        if not len(step.clients) or len(clients) + len(step.clients) > self.limits.clients:
            return False
        if not clients.isdisjoint(step.clients.tolist()):  # a client remembers its earlier job in the later
            return False
        return int(step.versions.max()) <= done and not step.fresh

    def _ends_with(self, step: Step) -> bool:
        return len(step.clients) == 0 or self._due(step.number + 1)
