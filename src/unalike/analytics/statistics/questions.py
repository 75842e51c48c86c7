"""Questions to nodes about their tables: questions, answers, and who answers.

A question has a kind, words (anything that JSON can hold) and arrays; so has an answer. Whoever can be asked
is a :class:`Nodes`: tables in this process, or organizations that keep theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ...data.tables import Tables
from ...errors import DataError, UnalikeError
from ...typing import Array, Fields, Float64s, Int64s


@dataclass(frozen=True)
class Question:
    """What all nodes are asked."""

    kind: str
    words: Fields = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What one node tells."""

    words: Fields = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)


def bins_of(answer: Answer, place: int, edges: Float64s) -> tuple[Float64s, Int64s]:
    """Edges and counts of a column's bins: the node's own, or those at the edges that were asked for."""
    if f"edges_{place}" in answer.arrays:
        return answer.arrays[f"edges_{place}"], answer.arrays[f"counts_{place}"]
    return edges, answer.arrays["counts"][place]


class Nodes(Protocol):
    """Clients that can be asked."""

    def ask(self, question: Question) -> dict[str, Answer]:
        """What each of them tells, by its name; those that do not answer are not in it."""


class LocalNodes:
    """Clients whose tables are here.

    Answers are exact, unless `minimum_cell_count` is above 1: then tables answer as nodes with that
    disclosure policy would.
    """

    def __init__(self, tables: Tables, minimum_cell_count: int = 1) -> None:
        from ..disclosure import DisclosureGuard, DisclosurePolicy

        policy = DisclosurePolicy(minimum_cell_count)
        self.tables = tables
        self._guards = {
            name: None if minimum_cell_count == 1 else DisclosureGuard(table, policy)
            for name, table in tables.items()
        }

    def ask(self, question: Question) -> dict[str, Answer]:
        """The answer of each table; a refusal is an error here, since nobody else can repair it."""
        from .answers import answer

        answers = {}
        for name, guard in self._guards.items():
            try:
                answers[name] = (
                    answer(self.tables[name], question) if guard is None else guard.answer(question)
                )
            except UnalikeError as error:
                raise DataError(f"client {name!r}: {error}") from None
        return answers
