"""Checkpoints: what is saved so that a run resumes bit for bit.

The server's state, the clients' memories, the participation's, the timing's, the aggregator's and the
stream's own states, and the messages of older versions that a later step may start from. Everything else is a
function of the seed.
"""

from __future__ import annotations

from typing import NamedTuple

from ..engine import Engine
from ..errors import RunError
from ..participation import Participation
from ..runs import RunFolder, restore
from ..timing import Step
from ..typing import Array, Message, State
from .steps import Steps
from .training_state import Progress


class LoadedCheckpoint(NamedTuple):
    """A checkpoint that is whole."""

    round: int
    state: State
    memory: dict[str, Array]
    participation: dict[str, Array]
    timing: dict[str, Array]
    aggregator: dict[str, Array]
    stream: dict[str, Array]
    messages: dict[str, Message]
    late: dict[str, Array]
    """The step that came after the clock had run out, if it had."""
    damaged: list[int]


class Checkpointer:
    """Saves a training to its folder, if it has one, and brings it back."""

    def __init__(
        self,
        folder: RunFolder | None,
        engine: Engine,
        participation: Participation,
        steps: Steps,
        now: Progress,
    ) -> None:
        self._folder, self._engine, self._participation = folder, engine, participation
        self._steps, self._now = steps, now

    def save(self) -> None:
        """Save a checkpoint of the run as it is now."""
        if self._folder:
            late, now, stream = self._steps.late, self._now, self._engine.setting.stream
            tree = {
                "state": now.state,
                "memory": now.memories.tensors(),
                "participation": self._participation.state(),
                "timing": self._steps.timing.state(),
                "late": late.arrays() if late else {},
                "aggregator": self._engine.setting.aggregator.state(),
                "stream": stream.state() if stream else {},
            }
            self._folder.save_checkpoint(now.done, {**tree, "messages": now.history.older(now.done)})

    def resume(self, rounds: int, real_jobs: bool) -> None:
        """Go back to the newest checkpoint that is whole; jobs of real clients that were under way are
        lost."""
        assert self._folder is not None, "only a run with a folder can go on."
        folder, now = self._folder, self._now
        found = load_checkpoint(folder, now.state, now.history.tree(0))
        if found is None:
            folder.rewind(-1)
            return
        if found.round > rounds:
            raise RunError(
                f"{folder.path} has done {found.round} rounds already, more than {rounds}; "
                f"ask for at least {found.round}."
            )
        now.done, now.state = found.round, self._engine.place(found.state)
        now.memories.restore(found.memory)
        now.history.restore({} if real_jobs else found.messages)
        now.history.add(now.done, now.state)
        self._restore_others(found)
        folder.rewind(now.done)
        for damaged in found.damaged:
            event = {"kind": "damaged checkpoint", "skipped": damaged}
            folder.record.write_round(now.done, {}, events=[event])

    def _restore_others(self, found: LoadedCheckpoint) -> None:
        self._participation.restore(found.participation)
        try:
            self._steps.timing.restore(found.timing)
        except (KeyError, ValueError, IndexError):
            raise RunError(f"{self._folder.path} was made with another timing.") from None  # type: ignore[union-attr]
        self._steps.late = Step.of(found.late) if found.late else None
        if found.stream and self._engine.setting.stream:
            self._engine.setting.stream.restore(found.stream)
        if found.aggregator:
            self._engine.setting.aggregator.restore(found.aggregator)


def load_checkpoint(folder: RunFolder, state: State, message: Message) -> LoadedCheckpoint | None:
    """The newest whole checkpoint, or None if nothing was saved; `state` and `message` give the shapes."""
    found = folder.checkpoints.latest()
    if found is None:
        return None
    round, tensors, _ = found
    older = _below(tensors, "messages")
    versions = {name.partition("/")[0] for name in older}
    return LoadedCheckpoint(
        round,
        restore(state, _below(tensors, "state")),
        _below(tensors, "memory"),
        _below(tensors, "participation"),
        _below(tensors, "timing"),
        _below(tensors, "aggregator"),
        _below(tensors, "stream"),
        {version: restore(message, _below(older, version)) for version in versions},
        _below(tensors, "late"),
        folder.checkpoints.damaged,
    )


def _below(tensors: dict[str, Array], name: str) -> dict[str, Array]:
    """The tensors whose names start with `name/`, without that beginning (a bare `name` becomes `value`)."""
    prefix = f"{name}/"
    inside = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
    return inside or ({"value": tensors[name]} if name in tensors else {})
