"""Which model did a client start from?

Version v is the server's state after v steps. A :class:`History` keeps what was broadcast for the newest
version and for every other that a later step may still start from, and, when asked, every state, so that
training can be rewound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from .engine import Told
from .errors import UnalikeError
from .trees import Tree


class History:
    """Messages by version; `keep_all` also keeps the states."""

    def __init__(self, broadcast: Callable[[Tree], Tree], keep_all: bool = False) -> None:
        self._broadcast, self.keeps_all = broadcast, keep_all
        self.messages: dict[int, Tree] = {}
        self.newest = 0
        self._states: dict[int, Tree] = {}
        self._unwanted: set[int] = set()

    def add(self, version: int, state: Tree) -> None:
        """Version `version` is `state`."""
        self.told(version, self._broadcast(state))
        if self.keeps_all:
            self._states[version] = state

    def told(self, version: int, message: Tree) -> None:
        """Version `version` broadcasts `message`."""
        self.messages[version] = message
        self.newest = version
        self.forget(())

    def forget(self, versions: Iterable[int]) -> None:
        """No later step starts from these versions; the newest is kept nevertheless."""
        self._unwanted.update(int(version) for version in versions)
        for version in self._unwanted - {self.newest}:
            self.messages.pop(version, None)
        self._unwanted &= {self.newest}

    def start(self, versions: NDArray[np.int64]) -> Told:
        """What clients start from: one message if their versions are the same, otherwise one for each."""
        if (versions == versions[0]).all():
            return Told(self._message(int(versions[0])))
        each = [self._message(version) for version in versions.tolist()]
        return Told(
            jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *each), True
        )

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
        self.messages = {int(version): message for version, message in older.items()}

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
