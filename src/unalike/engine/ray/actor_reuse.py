"""Reuse of idle Ray actors by the next training.

Starting a process that has JAX in it takes seconds. So workers whose training is over, and whose run nobody
asks about, are handed on to the next one with the same number of cores.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ray.actor import ActorHandle

    from .worker import Worker

Actor: TypeAlias = "ActorHandle[Worker]"
_WAITING: list[tuple[Hashable, Actor]] = []
"""Actors, each with what another training must have in common with theirs to use them."""


def give(kind: Hashable, actors: Iterable[Actor | None]) -> None:
    """These actors have nothing to do any more."""
    for actor in actors:
        if actor is not None:
            actor.leave.remote()
            _WAITING.append((kind, actor))


def take(kind: Hashable) -> Actor | None:
    """An actor of that kind, if one waits."""
    found = next((pair for pair in _WAITING if pair[0] == kind), None)
    if found is None:
        return None
    _WAITING.remove(found)
    return found[1]


def waiting(kind: Hashable) -> int:
    """How many actors of that kind wait."""
    return sum(other == kind for other, _ in _WAITING)


def dismiss(kind: Hashable = None) -> None:
    """Let all go but those of a kind; an actor ends when nobody refers to it."""
    _WAITING[:] = [pair for pair in _WAITING if pair[0] == kind]
