"""Checkpoints on disk: from where an interrupted run resumes.

A checkpoint is one safetensors file per saved round. The newest whole one is where a run resumes; a damaged
one is skipped and remembered in `damaged`, so that the training loop can write down that it happened.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..errors import RunError
from ..typing import Memory, PyTree
from .atomic import remove_leftovers
from .tensors import DamagedFileError, load_tensors, restore, save_tensors

_PREFIX, _SUFFIX = "round-", ".safetensors"


class Checkpoints:
    """The saved rounds of a run: the newest `keep` of them, or a whole history when `keep` is None."""

    def __init__(self, folder: str | Path, keep: int | None = 2) -> None:
        if keep is not None and keep < 1:
            raise RunError(f"a run must keep at least one checkpoint, not {keep}.")
        self.folder = Path(folder)
        self.keep = keep
        self.damaged: list[int] = []

    def path(self, round: int) -> Path:
        """Where the checkpoint of a round is, or would be."""
        return self.folder / f"{_PREFIX}{round:06d}{_SUFFIX}"

    def rounds(self) -> list[int]:
        """The rounds that have a checkpoint, oldest first."""
        numbers = (p.name[len(_PREFIX) : -len(_SUFFIX)] for p in self.folder.glob(f"{_PREFIX}*{_SUFFIX}"))
        return sorted(int(number) for number in numbers if number.isdecimal())

    def save(self, round: int, tree: PyTree, metadata: Mapping[str, str] | None = None) -> None:
        """Save a round; those after it, which a rewound run left behind, and the oldest beyond `keep` go."""
        save_tensors(self.path(round), tree, {**(metadata or {}), "round": str(round)})
        remove_leftovers(self.folder)
        self.rewind(round)
        for old in self.rounds()[: -self.keep] if self.keep else []:
            self.path(old).unlink(missing_ok=True)

    def load(self, round: int, template: Memory | None = None) -> tuple[PyTree, dict[str, str]]:
        """The tree and the metadata of one round; without a template, the tensors by name."""
        tensors, metadata = load_tensors(self.path(round))
        if template is None:
            return tensors, metadata
        try:
            return restore(template, tensors), metadata
        except RunError as error:
            raise RunError(f"checkpoint {self.path(round)} is of another model or method: {error}") from None

    def latest(self, template: Memory | None = None) -> tuple[int, PyTree, dict[str, str]] | None:
        """The newest checkpoint that is whole, or None when nothing was ever saved."""
        rounds = self.rounds()
        self.damaged = []
        for round in reversed(rounds):
            try:
                return (round, *self.load(round, template))
            except DamagedFileError:
                self.damaged.append(round)
        if rounds:
            raise RunError(
                f"all {len(rounds)} checkpoints in {self.folder} are damaged; start the run again."
            )
        return None

    def rewind(self, round: int) -> None:
        """Forget every checkpoint after a round."""
        for later in (r for r in self.rounds() if r > round):
            self.path(later).unlink(missing_ok=True)
