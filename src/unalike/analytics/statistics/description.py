"""Description of tables that stay at their clients: a first look at the columns.

Counts, missing values, means, standard deviations and quartiles of number columns, words and counts of word
columns, over all nodes, and the means of every node beside each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...errors import DataError
from ...typing import Document, Fields
from ..summary import Cell, Summary, SummaryTable
from .answers import WITHHELD
from .moments import Moments, ask_moments
from .quantiles import Quantile, ask_quantiles
from .questions import Nodes, Question

MOST_SHOWN = 6
"""Words of a column that are listed."""


@dataclass(frozen=True)
class AgreedColumns:
    """What nodes say of their columns, put together."""

    rows: Mapping[str, int]
    """Of every node; `WITHHELD` where it has too few."""
    kinds: Mapping[str, str]
    missing: Mapping[str, int]
    """Missing values of every column, as far as they are told."""
    words: Mapping[str, Mapping[str, int]]
    """Of word columns: how many rows hold each word, in the order of the words."""
    untold: Mapping[str, int]
    """Of word columns: how many nodes withhold rare words."""

    @property
    def total(self) -> int:
        """All rows that are told of."""
        return sum(n for n in self.rows.values() if n != WITHHELD)

    def numbers(self) -> list[str]:
        """The columns that hold numbers."""
        return [name for name, kind in self.kinds.items() if kind == "numbers"]


@dataclass(frozen=True)
class Description:
    """The first look."""

    agreed: AgreedColumns
    moments: Moments
    quartiles: Mapping[str, Sequence[Quantile]]

    def summary(self) -> Summary:
        """As tables: number columns, word columns, and nodes."""
        agreed = self.agreed
        facts = (("nodes", len(agreed.rows)), ("rows", agreed.total))
        withheld = [name for name, n in agreed.rows.items() if n == WITHHELD]
        notes = (f"Too few rows to tell anything: {', '.join(withheld)}.",) if withheld else ()
        tables = [self._number_table(), self._word_table(), self._node_table()]
        return Summary("First look", facts, tuple(table for table in tables if table.rows), notes)

    def as_dict(self) -> Document:
        """For JSON."""
        m, agreed = self.moments, self.agreed
        columns: Document = {
            name: {"kind": kind, "missing": agreed.missing[name]} for name, kind in agreed.kinds.items()
        }
        for j, name in enumerate(m.names):
            columns[name] |= {"count": int(m.count[j]), "mean": float(m.mean[j]), "std": float(m.std[j])}
            columns[name]["quantiles"] = [
                {"probability": q.probability, "value": q.value, "error": q.error}
                for q in self.quartiles.get(name, ())
            ]
        for name, words in agreed.words.items():
            columns[name] |= {"words": dict(words), "untold": agreed.untold[name]}
        return {"rows": dict(agreed.rows), "columns": columns}

    def _number_table(self) -> SummaryTable:
        m, rows = self.moments, list[tuple[Cell, ...]]()
        for j, name in enumerate(m.names):
            quartiles: list[Cell] = [q.value for q in self.quartiles.get(name, ())]
            seen = (int(m.count[j]), _gaps(self.agreed.missing[name]))
            rows.append((name, *seen, float(m.mean[j]), float(m.std[j]), *(quartiles or [None] * 3)))
        header = ("column", "rows", "missing", "mean", "std", "25 %", "50 %", "75 %")
        return SummaryTable("Numbers", header, tuple(rows))

    def _word_table(self) -> SummaryTable:
        rows = []
        for name, words in self.agreed.words.items():
            often = sorted(words.items(), key=lambda pair: -pair[1])
            listed = ", ".join(word if n == WITHHELD else f"{word} {n}" for word, n in often[:MOST_SHOWN])
            more = f", {len(often) - MOST_SHOWN} more" if len(often) > MOST_SHOWN else ""
            untold = self.agreed.untold[name]
            withheld = " (small counts withheld)" if untold else ""
            rows.append((name, _gaps(self.agreed.missing[name]), f"{listed}{more}{withheld}"))
        return SummaryTable("Words", ("column", "missing", "rows of each word"), tuple(rows))

    def _node_table(self) -> SummaryTable:
        shown = self.moments.names[:MOST_SHOWN]
        rows = []
        for name, n in self.agreed.rows.items():
            told = self.moments.by_client.get(name)
            means = [None if told is None or not told[j, 0] else float(told[j, 1]) for j in range(len(shown))]
            rows.append((name, _gaps(n), *means))
        many = len(rows) > 20
        title = "Means of every node" + (f" (the first 20 of {len(rows)})" if many else "")
        return SummaryTable(title, ("node", "rows", *shown), tuple(rows[:20]))


def describe(nodes: Nodes, columns: Sequence[str] | None = None) -> Description:
    """A first look at all columns, or at some.

    >>> from unalike.analytics.statistics import LocalNodes
    >>> from unalike.data.tables import tables_of
    >>> nodes = LocalNodes(tables_of({"a": {"age": [1.0, 2.0]}, "b": {"age": [6.0]}}))
    >>> found = describe(nodes)
    >>> found.moments.mean.tolist(), [round(q.value, 6) for q in found.quartiles["age"]]
    ([3.0], [1.0, 2.0, 6.0])
    """
    agreed = agree_on_columns(nodes, columns)
    moments = ask_moments(nodes, agreed.numbers())
    return Description(agreed, moments, ask_quantiles(nodes, moments))


def agree_on_columns(
    nodes: Nodes, columns: Sequence[str] | None = None, factors: Sequence[str] = ()
) -> AgreedColumns:
    """What all nodes say of their columns; a column must be there, and of one kind, at every node.

    Numbers in columns that are `factors` are taken as words.
    """
    question = Question("columns", {"factors": list(factors)})
    answers = {name: answer.words for name, answer in nodes.ask(question).items()}
    if not answers:
        raise DataError("no node has told anything of its columns.")
    wanted = list(columns) if columns is not None else _everywhere(answers)
    kinds = {column: _one_kind(column, answers) for column in wanted}
    told = {c: [answer["columns"][c] for answer in answers.values()] for c in wanted}
    words = {c: _add_words(told[c]) for c in wanted if kinds[c] == "words"}
    return AgreedColumns(
        {name: int(answer["rows"]) for name, answer in answers.items()},
        kinds,
        {c: _add_counts(int(one["missing"]) for one in told[c]) for c in wanted},
        words,
        {c: sum(int(one.get("untold", 0)) for one in told[c]) for c in words},
    )


def _everywhere(answers: Mapping[str, Fields]) -> list[str]:
    """Columns that all nodes have, in the order of the first."""
    first, *others = (answer["columns"] for answer in answers.values())
    return [name for name in first if all(name in other for other in others)]


def _one_kind(column: str, answers: Mapping[str, Fields]) -> str:
    kinds = {}
    for name, answer in answers.items():
        if column not in answer["columns"]:
            raise DataError(f"node {name} has no column {column!r}.")
        kinds[name] = answer["columns"][column]["kind"]
    known = {kind: name for name, kind in kinds.items() if kind != "empty"}
    if len(known) > 1:
        raise DataError(
            f"column {column!r} holds numbers at {known['numbers']} and words at {known['words']}."
        )
    return next(iter(known), "empty")


def _add_words(told: Sequence[Fields]) -> dict[str, int]:
    words = sorted({word for one in told for word in one.get("words", {})})
    return {
        word: _add_counts(int(one["words"][word]) for one in told if word in one.get("words", {}))
        for word in words
    }


def _add_counts(counts: Iterable[int]) -> int:
    """The sum of what nodes tell; withheld where nobody tells anything."""
    known = list(counts)
    return sum(max(n, 0) for n in known) if any(n != WITHHELD for n in known) or not known else WITHHELD


def _gaps(count: int) -> Cell:
    return "withheld" if count == WITHHELD else count
