"""What must be saved so that a run can go on as if nothing had happened?

The server's state, the clients' memories, the participation's and the timing's own states, and the messages
of older versions that a later step may start from. Everything else is a function of the seed.
"""

from __future__ import annotations

from typing import NamedTuple

from ..core.pytrees import Tree
from ..runs import RunFolder, restore
from ..typing import Array


class Found(NamedTuple):
    """A checkpoint that is whole."""

    round: int
    state: Tree
    memory: dict[str, Array]
    participation: dict[str, Array]
    timing: dict[str, Array]
    messages: dict[str, Tree]
    late: dict[str, Array]
    """The step that came after the clock had run out, if it had."""
    damaged: list[int]


def load_checkpoint(folder: RunFolder, state: Tree, message: Tree) -> Found | None:
    """The newest whole checkpoint, or None if nothing was saved; `state` and `message` give the shapes."""
    found = folder.checkpoints.latest()
    if found is None:
        return None
    round, tensors, _ = found
    older = _below(tensors, "messages")
    versions = {name.partition("/")[0] for name in older}
    return Found(
        round,
        restore(state, _below(tensors, "state")),
        _below(tensors, "memory"),
        _below(tensors, "participation"),
        _below(tensors, "timing"),
        {version: restore(message, _below(older, version)) for version in versions},
        _below(tensors, "late"),
        folder.checkpoints.damaged,
    )


def _below(tensors: dict[str, Array], name: str) -> dict[str, Array]:
    """The tensors whose names start with `name/`, without that beginning (a bare `name` becomes `value`)."""
    prefix = f"{name}/"
    inside = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
    return inside or ({"value": tensors[name]} if name in tensors else {})
