"""Which model did a client start from?

Version v is the server's state after v steps. A :class:`History` keeps what was broadcast for every version
that a later step may still start from, and, when asked, every state, so that training can be rewound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import UnalikeError
from .trees import Tree


class History:
    """Messages by version; `keep_all` also keeps the states."""

    def __init__(self, broadcast: Callable[[Tree], Tree], keep_all: bool = False) -> None:
        self._broadcast, self.keeps_all = broadcast, keep_all
        self.messages: dict[int, Tree] = {}
        self._states: dict[int, Tree] = {}

    def add(self, version: int, state: Tree, keep_from: int) -> None:
        """Version `version` is `state`; versions before `keep_from` will not be started from again."""
        self.messages[version] = self._broadcast(state)
        for old in [v for v in self.messages if v < min(keep_from, version)]:
            del self.messages[old]
        if self.keeps_all:
            self._states[version] = state

    def start(self, versions: NDArray[np.int64]) -> list[Tree]:
        """What the distinct versions broadcast, oldest first."""
        return [self._message(int(version)) for version in np.unique(versions)]

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
        """The inverse of :meth:`older`."""
        self.messages.update({int(version): message for version, message in older.items()})

    def _message(self, version: int) -> Tree:
        if version not in self.messages:
            raise UnalikeError(
                f"a step starts from version {version}, which the timing said would not be needed again."
            )
        return self.messages[version]


def _ranges(versions: list[int]) -> str:
    """Numbers in words.

    >>> _ranges([0, 4, 5, 6])
    '0, 4 to 6'
    """
    firsts = [v for v in versions if v - 1 not in versions]
    lasts = [v for v in versions if v + 1 not in versions]
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in zip(firsts, lasts, strict=True))
