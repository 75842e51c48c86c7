"""Unlearning history on disk: models and norms of every round of a branch.

One safetensors file per round: the norm and the weight of every client's upload, and the server's state where
it is kept. A file is written at once or not at all, so what is there after `kill -9` is whole; what came
after the checkpoint from which a run goes on is erased and written again.

These files hold models without noise, so clients that were forgotten later are still in them, up to what
their certificate says: they are as confidential as the rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ...errors import RunError
from ...runs import load_tensors, restore, save_tensors
from ...runs.atomic import remove_file, remove_leftovers, sync
from ...timing import Step
from ...typing import Array, Float64s, PyTree, State
from .retention import Retention
from .sensitivity import Ledger, Mode

_PREFIX, _SUFFIX = "round-", ".safetensors"
_STATE = "state/"


class BranchHistory:
    """The rounds of one training, as a keeper of :func:`unalike.train` writes them."""

    def __init__(
        self,
        folder: Path,
        retention: Retention = Retention(),
        importance: Float64s | None = None,
        mode: Mode = "realized",
        server_rate: float = 1.0,
        names: Sequence[str] = (),
    ) -> None:
        self.folder, self.retention = folder, retention
        self._importance, self._mode, self._rate = importance, mode, server_rate
        self._names = tuple(names)
        self._totals = np.zeros(0)

    # Writing ------------------------------------------------------------------------------------------------

    def begin(self, done: int, state: State) -> None:
        """Training begins, or goes on after `done` rounds: what came later is erased."""
        assert self._importance is not None, "who writes a history knows what clients weigh."
        self.erase_after(done)
        if not self.path(0).exists():
            if done:
                raise RunError(f"{self.folder} does not hold the rounds before {done}; the run cannot go on.")
            words = {"names": json.dumps(self._names)}
            save_tensors(self.path(0), {"importance": self._importance, "state": state}, words)
        if self.retention.limit is not None:
            self._totals = self.ledger(self._rate).sensitivity(self._mode)[-1]

    def keep(self, step: Step, report: Mapping[str, ArrayLike], state: State) -> None:
        """Write a round: every client's norm and weight, and the state where it is wanted."""
        row = self._row(step, report)
        done = step.number + 1
        kept = {"state": state} if self.retention.keeps(done) else {}
        save_tensors(self.path(done), {**row, **kept})
        if self.retention.limit is not None:
            self._prune(done, row)

    def _row(self, step: Step, report: Mapping[str, ArrayLike]) -> dict[str, Float64s]:
        assert self._importance is not None
        deviations, weights = np.zeros((2, len(self._importance)))
        if len(step.clients) and "deviation" in report:
            given = step.weights * (np.asarray(report["accepted"]) > 0)
            weights[step.clients] = given / given.sum() if given.sum() > 0 else 0.0
            deviations[step.clients] = np.asarray(report["deviation"])
        return {"deviations": deviations, "weights": weights}

    def _prune(self, done: int, row: Mapping[str, Float64s]) -> None:
        """Drop the model before this round, unless this is the round in which a client exceeds the limit."""
        assert self._importance is not None
        assert self.retention.limit is not None
        before, one = self._totals, Ledger(row["deviations"][None], row["weights"][None], self._importance)
        self._totals = before + self._rate * one.increments(self._mode)[0]
        limit = self.retention.limit
        crossing = ((before <= limit) & ~(self._totals <= limit)).any()
        if done > 1 and not crossing:
            self.drop_state(done - 1)

    def drop_state(self, round: int) -> None:
        """Forget the model of a round, and keep its norms."""
        tensors, _ = load_tensors(self.path(round))
        save_tensors(self.path(round), {k: v for k, v in tensors.items() if not k.startswith(_STATE)})

    def erase_after(self, round: int) -> int:
        """Erase everything after a round (-1: all of it); how many rounds were erased."""
        later = [n for n in self.rounds() if n > round]
        for number in reversed(later):
            remove_file(self.path(number))
        if self.folder.exists():
            remove_leftovers(self.folder)
            sync(self.folder)
        return len(later)

    # Reading ------------------------------------------------------------------------------------------------

    def path(self, round: int) -> Path:
        """Where a round is, or would be."""
        return self.folder / f"{_PREFIX}{round:06d}{_SUFFIX}"

    def rounds(self) -> list[int]:
        """The rounds that are there, in order."""
        names = (p.name[len(_PREFIX) : -len(_SUFFIX)] for p in self.folder.glob(f"{_PREFIX}*{_SUFFIX}"))
        return sorted(int(name) for name in names if name.isdecimal())

    def states(self) -> list[int]:
        """The rounds whose model is there."""
        return [n for n in self.rounds() if any(k.startswith(_STATE) for k in self._tensors(n))]

    def state(self, round: int, template: State) -> State:
        """The server's state after so many rounds."""
        found = {k.removeprefix(_STATE): v for k, v in self._tensors(round).items() if k.startswith(_STATE)}
        return restore(template, found)

    def parameters(self, round: int) -> dict[str, Array]:
        """The tensors of the model after so many rounds, by name."""
        return {k: v for k, v in self._tensors(round).items() if k.startswith(f"{_STATE}params")}

    def start_from(self, other: BranchHistory, round: int, change: Callable[[PyTree], PyTree]) -> None:
        """Begin with the state of another branch, whose model is changed; whatever was there stays."""
        if self.path(0).exists():
            return
        tensors = {k: v for k, v in other._tensors(round).items() if k.startswith(_STATE)}
        changed = change(other.parameters(round))
        words = {"names": json.dumps(self._names)}
        save_tensors(self.path(0), {"importance": self._importance, **tensors, **changed}, words)

    def start_with(self, state: State) -> None:
        """Begin with a state that holds nothing of anybody; whatever was there stays."""
        if self.path(0).exists():
            return
        words = {"names": json.dumps(self._names)}
        save_tensors(self.path(0), {"importance": self._importance, "state": state}, words)

    def keep_names(self, importance: Float64s) -> None:
        """Erase all rounds and the first model, and keep what clients are called and what they weigh."""
        self.erase_after(0)
        _, words = load_tensors(self.path(0))
        save_tensors(self.path(0), {"importance": importance}, words)

    def ledger(self, server_rate: float = 1.0, discount: float = 1.0) -> Ledger:
        """The norms and weights of all rounds."""
        rounds = self.rounds()
        if not rounds or rounds != list(range(rounds[-1] + 1)):
            raise RunError(f"{self.folder} has gaps; without every round's norms nothing can be promised.")
        importance = self._tensors(0)["importance"]
        rows = [self._tensors(n) for n in rounds[1:]]
        table = np.zeros((2, len(rows), len(importance)))
        for k, row in enumerate(rows):
            table[:, k] = row["deviations"], row["weights"]
        return Ledger(table[0], table[1], importance, discount, server_rate)

    def _tensors(self, round: int) -> dict[str, Array]:
        found: dict[str, Array] = load_tensors(self.path(round))[0]
        return found


def client_names(folder: Path) -> tuple[str, ...]:
    """What the clients of a branch are called, in the order of their numbers."""
    _, words = load_tensors(folder / f"{_PREFIX}000000{_SUFFIX}")
    return tuple(json.loads(words["names"]))


def first_importance(folder: Path) -> Float64s:
    """What the clients of a branch weigh."""
    return np.asarray(load_tensors(folder / f"{_PREFIX}000000{_SUFFIX}")[0]["importance"])
