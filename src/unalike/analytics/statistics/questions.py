"""What may a node be asked of its table?  (Questions, answers, and who answers.)

A question has a kind, words (anything that JSON can hold) and arrays; so has an answer. Whoever can be asked
is a :class:`Nodes`: tables in this process, or organisations that keep theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...data.tables import Tables
from ...errors import DataError, UnalikeError
from ...typing import Array


@dataclass(frozen=True)
class Question:
    """What all nodes are asked."""

    kind: str
    words: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What one node tells."""

    words: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)


class Nodes(Protocol):
    """Clients that can be asked."""

    def ask(self, question: Question) -> dict[str, Answer]:
        """What each of them tells, by its name; those that do not answer are not in it."""


class LocalNodes:
    """Clients whose tables are here: a rehearsal of nodes that tell no cell of fewer than so many rows."""

    def __init__(self, tables: Tables, smallest_cell: int = 1) -> None:
        if smallest_cell < 1:
            raise DataError(f"the smallest cell must have at least 1 row, but has {smallest_cell}.")
        self.tables, self.smallest_cell = tables, smallest_cell

    def ask(self, question: Question) -> dict[str, Answer]:
        """What each table says; a refusal is an error here, since nobody else can repair it."""
        from .answers import answer

        found = {}
        for name, table in self.tables.items():
            try:
                found[name] = answer(table, question, self.smallest_cell)
            except UnalikeError as error:
                raise DataError(f"client {name!r}: {error}") from None
        return found
