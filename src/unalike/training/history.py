"""Model versions that clients start from.

Version v is the server's state after v steps. A :class:`History` keeps what was broadcast for the newest
version and for every other that a later step may still start from, and, when asked, every state, so that
training can be rewound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import jax
import numpy as np

from ..algorithms import Messages
from ..engine import Block, Outcome
from ..errors import UnalikeError
from ..typing import Fields, Int64s, Message, State


class _BroadcastBlock(NamedTuple):
    """What several versions in a row broadcast (leading axis); it may still be being computed."""

    first: int
    length: int
    messages: Message


class History:
    """What each version broadcasts; `keep_all` also keeps the states.

    `messages(state)` says what goes down to all clients when that is the state.
    """

    def __init__(self, messages: Callable[[State], Messages], keep_all: bool = False) -> None:
        self._of_state, self.keeps_all = messages, keep_all
        self._rows: Int64s | None = None
        self._messages: dict[int, Message] = {}
        self._states: dict[int, State] = {}
        self._unwanted: set[int] = set()
        self._block: _BroadcastBlock | None = None
        self._state: State | None = None
        """Of the newest version, as long as nobody has asked what it broadcasts: to find out may mean to wait
        for it, and between rounds that are handed over together nobody asks."""
        self.newest = 0

    @property
    def kept(self) -> dict[int, Message]:
        """What every version that is kept broadcast."""
        self._unpack()
        return self._messages

    def tree(self, version: int) -> Message:
        """What a version broadcast."""
        return self.kept[version]

    def messages(self, version: int) -> Messages:
        """What a version sends to all clients."""
        return Messages(self.tree(version), self._rows)

    def messages_for(self, block: Block) -> Messages:
        """What the clients of a block start from, in their order: one message if their versions are the same
        and there is one for all, otherwise one for each. Rounds in a row are sent nothing from here: what
        each starts from follows from the state that the one before it leaves."""
        if block.rounds > 1:
            return Messages(Message({}))
        if not self._messages:
            self._unpack()
        versions = np.concatenate([step.versions for step in block.steps])
        different, rows = np.unique(versions, return_inverse=True)
        if self._rows is not None:
            everyone = Messages(self._message(int(different[-1])), self._rows)
            return everyone.select(np.concatenate([step.clients for step in block.steps]))
        if len(different) <= 1:
            return Messages(self._message(int(different[0]) if len(different) else self.newest))
        each = [self._message(version) for version in different.tolist()]
        return Messages(jax.tree.map(lambda *leaves: np.stack([*map(np.asarray, leaves)]), *each), rows)

    def advance(self, block: Block, outcome: Outcome) -> None:
        """The steps of a block were taken; versions that nobody will start from again are forgotten."""
        first, several = block.steps[0].number + 1, len(block.steps) > 1
        unwanted = [version for step in block.steps for version in step.done_with.tolist()]
        self.forget(unwanted)  # before, so that what nobody starts from is not even looked at
        if several and outcome.broadcasts is not None:
            self.add_block(first, len(block.steps), outcome.broadcasts)
        else:
            self.add(block.after, outcome.state)
        self.forget(unwanted)

    def add(self, version: int, state: State) -> None:
        """Version `version` is `state`; what it broadcasts is looked at when it is needed."""
        self._settle()
        self._state, self.newest = state, version
        self._sweep()
        if self.keeps_all:
            self._states[version] = state

    def add_block(self, first: int, count: int, messages: Message) -> None:
        """Versions `first`, `first + 1`, ... broadcast these; they are looked at when they are needed, so
        that they can be computed meanwhile."""
        self._settle()
        self._block = _BroadcastBlock(first, count, messages)
        self.newest = first + count - 1

    def forget(self, versions: Iterable[int]) -> None:
        """No later step starts from these versions; the newest is kept nevertheless."""
        self._unwanted.update(int(version) for version in versions)
        if self._block is None:
            self._sweep()

    def _sweep(self) -> None:
        for version in self._unwanted - {self.newest}:
            self._messages.pop(version, None)
        self._unwanted &= {self.newest}

    def _settle(self) -> None:
        """Keep what the versions so far broadcast, if a later step may start from it."""
        if self.newest in self._unwanted:
            self._state = None
        self._unpack()

    def _unpack(self) -> None:
        """Take the block's messages apart, and look at the newest state's."""
        if self._state is not None:
            state, self._state = self._state, None
            self._messages[self.newest], self._rows = self._of_state(state)
        if self._block is None:
            return
        (first, count, messages), self._block = self._block, None
        leaves, structure = jax.tree.flatten(messages)
        arrays = [np.asarray(leaf) for leaf in leaves]
        for k in range(count):
            if first + k == self.newest or first + k not in self._unwanted:
                # Copies: a view would keep all of the block alive as long as one message is needed.
                rows = [array[k].copy() for array in arrays]
                self._messages[first + k] = jax.tree.unflatten(structure, rows)
        self._sweep()

    def state(self, version: int) -> State:
        """The server's state after `version` steps, of a run that keeps its history."""
        if version not in self._states:
            kept = _ranges(sorted(self._states)) or "none; train with keep_history=True"
            raise UnalikeError(f"version {version} is not in the history (kept: {kept}).")
        return self._states[version]

    def older(self, current: int) -> dict[str, Message]:
        """Messages of versions before the current one, for a checkpoint."""
        return {str(version): message for version, message in self.kept.items() if version < current}

    def restore(self, older: Fields) -> None:
        """The inverse of :meth:`older`; what else was there is forgotten."""
        self._messages = {int(version): message for version, message in older.items()}

    def _message(self, version: int) -> Message:
        if version not in self._messages:
            self._unpack()
        if version not in self._messages:
            raise UnalikeError(
                f"a step starts from version {version}, which the timing said would not be needed again."
            )
        return self._messages[version]


def _ranges(versions: list[int]) -> str:
    """Numbers in words.

    >>> _ranges([0, 4, 5, 6])
    '0, 4 to 6'
    """
    firsts = [v for v in versions if v - 1 not in versions]
    lasts = [v for v in versions if v + 1 not in versions]
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in zip(firsts, lasts, strict=True))
