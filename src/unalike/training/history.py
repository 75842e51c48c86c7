"""Which model did a client start from?

Version v is the server's state after v steps. A :class:`History` keeps what was broadcast for the newest
version and for every other that a later step may still start from, and, when asked, every state, so that
training can be rewound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from ..core.pytrees import Tree
from ..engine import Messages
from ..errors import UnalikeError
from ..typing import Int64s


class Block(NamedTuple):
    """What several versions in a row broadcast (leading axis); it may still be being computed."""

    first: int
    length: int
    messages: Tree


class History:
    """Messages by version; `keep_all` also keeps the states."""

    def __init__(self, broadcast: Callable[[Tree], Tree], keep_all: bool = False) -> None:
        self._broadcast, self.keeps_all = broadcast, keep_all
        self._messages: dict[int, Tree] = {}
        self._states: dict[int, Tree] = {}
        self._unwanted: set[int] = set()
        self._block: Block | None = None
        self.newest = 0

    @property
    def messages(self) -> dict[int, Tree]:
        """What every version that is kept broadcast."""
        self._settle()
        return self._messages

    def add(self, version: int, state: Tree) -> None:
        """Version `version` is `state`."""
        self._settle()
        self._messages[version] = self._broadcast(state)
        self.newest = version
        self._sweep()
        if self.keeps_all:
            self._states[version] = state

    def add_block(self, first: int, count: int, messages: Tree) -> None:
        """Versions `first`, `first + 1`, ... broadcast these; they are looked at when they are needed, so
        that they can be computed meanwhile."""
        self._settle()
        self._block = Block(first, count, messages)
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

    def start(self, versions: Int64s) -> Messages:
        """What clients start from: one message if their versions are the same, otherwise one for each."""
        if (versions == versions[0]).all():
            return Messages(self._message(int(versions[0])))
        each = [self._message(version) for version in versions.tolist()]
        return Messages(jax.tree.map(lambda *leaves: np.stack([*map(np.asarray, leaves)]), *each), True)

    def _settle(self) -> None:
        """Take the block's messages apart."""
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

    def state(self, version: int) -> Tree:
        """The server's state after `version` steps, of a run that keeps its history."""
        if version not in self._states:
            kept = _ranges(sorted(self._states)) or "none; train with keep_history=True"
            raise UnalikeError(f"version {version} is not in the history (kept: {kept}).")
        return self._states[version]

    def older(self, current: int) -> dict[str, Tree]:
        """Messages of versions before the current one, for a checkpoint."""
        return {str(version): message for version, message in self.messages.items() if version < current}

    def restore(self, older: Mapping[str, Any]) -> None:
        """The inverse of :meth:`older`; what else was there is forgotten."""
        self._messages = {int(version): message for version, message in older.items()}

    def _message(self, version: int) -> Tree:
        if version not in self._messages:
            self._settle()
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
