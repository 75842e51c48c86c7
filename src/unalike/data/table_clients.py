"""A federation from clients' tables: target, split, preprocessing fitted on training rows.

Each client's rows are cut first; what columns become is then decided from facts of training rows alone, which
clients tell without showing rows, and all rows are prepared in that one way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np

from ..errors import DataError, unknown
from ..typing import Array, Fields, Keywords
from .federation import Federation
from .files.agreement import StringLabels, agree_columns, spell
from .files.client_files import stack_numbers
from .missing_values import say_missing_words
from .preprocessing import ColumnFacts, Preparation, facts_of, fit_preparation, needs_preparation
from .preprocessing.read_preparation import read_preparation
from .tables.column_hints import column_hints
from .tables.identifying_columns import identifying_columns
from .tables.table import Table
from .train_test_split import PARTS, assign_parts

MissingValues = Literal["fill", "drop", "refuse"]
WAYS = ("auto", "always", "never")
MOST_SAID = 10
"""Columns that are named in a line."""
PART = "__part__"
"""The column, if there is one, that says of which part every row is, by number."""


class ClientTable(NamedTuple):
    """One client's features as a table, and its targets."""

    features: Table
    y: Array | StringLabels


class PreparationOptions(NamedTuple):
    """What a person says of preparation."""

    drop: tuple[str, ...] = ()
    """Columns to leave out."""
    prepare: str = "auto"
    """Whether words are coded and numbers standardized; `auto`: where there are text, dates, missing values
    or large numbers; or a .json file that says how."""
    missing: MissingValues = "fill"
    """Rows with missing values: filled in (and marked), dropped, or refused."""
    keep_columns: tuple[str, ...] = ()
    """Text columns to keep although their values single out rows."""
    without: tuple[str, ...] = ()
    """Clients whose rows do not count when the preparation is fitted, as if they had never been there."""


def federation_of(
    clients: Mapping[str, ClientTable],
    how: PreparationOptions = PreparationOptions(),
    *,
    test_fraction: float = 0.2,
    validation_fraction: float = 0.0,
    classes: int | None = None,
    seed: int = 0,
) -> Federation:
    """The federation of these tables, prepared as asked; its description says what was done."""
    tables = _without(_in_one_order(clients, how.without), how.drop)
    dropped = _identifying(tables, how)
    tables = _without(tables, list(dropped))
    missing = _say_missing(tables)
    tables, said = _without_missing(tables, how.missing)
    said = _say_dropped(dropped) + missing + said
    parts = {name: table[PART].astype(np.int64) for name, (table, _) in tables.items() if PART in table}
    tables = _without(tables, [PART]) if parts else tables
    parts = parts or _split_tables(tables, test_fraction, validation_fraction, seed)
    facts = {name: _facts(name, table, parts[name]) for name, (table, _) in tables.items()}
    facts = {name: told for name, told in facts.items() if name not in how.without}
    preparation = _preparation(facts, how.prepare)
    features = {name: _features(name, table, preparation) for name, (table, _) in tables.items()}
    given = {name: _parts(features[name], y, parts[name]) for name, (_, y) in tables.items()}
    federation = Federation.from_clients(given, classes=classes, seed=seed)
    names = preparation.names if preparation else next(iter(tables.values())).features.names
    said += [] if preparation is None else [_say(facts, preparation)]
    said += [f"{name}: {words}" for name, (t, _) in tables.items() for words in _remarks(t, preparation)]
    facts_said: Keywords = {"preparation": preparation, "dropped_columns": tuple(dropped.items())}
    return replace(federation, columns=tuple(names), description="; ".join(said), **facts_said)


def how_to_prepare(given: Fields) -> PreparationOptions:
    """What a person says of preparation, checked.

    >>> how_to_prepare({"drop": "id,name", "missing": "drop"})
    PreparationOptions(drop=('id', 'name'), prepare='auto', missing='drop', keep_columns=(), without=())
    """
    for name in given:
        if name not in PreparationOptions._fields:
            raise unknown("way to prepare tables", name, PreparationOptions._fields)
    way, missing = str(given.get("prepare", "auto")), given.get("missing", "fill")
    if way not in WAYS and not way.endswith(".json"):
        raise unknown("way to prepare", way, (*WAYS, "FILE.json"))
    if missing not in get_args(MissingValues):
        raise unknown("way with missing values", str(missing), get_args(MissingValues))
    columns = {word: _column_names(given.get(word)) for word in ("drop", "keep_columns")}
    left = tuple(str(name) for name in given.get("without") or ())
    return PreparationOptions(**{**given, **columns, "without": left})


def _column_names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    names = given.split(",") if isinstance(given, str) else given or ()
    return tuple(spell(str(name)) for name in names)


def _identifying(clients: Mapping[str, ClientTable], how: PreparationOptions) -> dict[str, str]:
    """Text columns that single out rows and that the user did not ask to keep; a preparation from a file
    has its own list of columns, and without any preparation text is refused."""
    names = next(iter(clients.values())).features.names
    for name in how.keep_columns:
        if name not in names:
            raise unknown("column to keep", name, names)
    if how.prepare not in ("auto", "always"):
        return {}
    found = identifying_columns(
        client.features for name, client in clients.items() if name not in how.without
    )
    dropped = {name: reason for name, reason in found.items() if name not in how.keep_columns}
    if dropped and len(dropped) == len([name for name in names if name != PART]):
        raise DataError(
            f"every feature column has values that single out rows ({', '.join(dropped)}); nothing is left "
            f"to learn from. Keep one with --keep-columns {next(iter(dropped))}, or group its values."
        )
    return dropped


def _say_dropped(dropped: Mapping[str, str]) -> list[str]:
    if not dropped:
        return []
    some = [f"{name} ({reason})" for name, reason in list(dropped.items())[:MOST_SAID]]
    more = f" and {len(dropped) - MOST_SAID} more" if len(dropped) > MOST_SAID else ""
    return [
        f"dropped text columns whose values single out rows: {', '.join(some)}{more}; --keep-columns "
        f"{','.join(list(dropped)[:MOST_SAID])} keeps them, and their values are then in the run folder"
    ]


def _in_one_order(clients: Mapping[str, ClientTable], last: Sequence[str] = ()) -> dict[str, ClientTable]:
    """The tables with their columns in the order of the first that counts."""
    order = sorted(clients, key=lambda name: name in last)
    columns = agree_columns({name: clients[name].features.names for name in order}) or ()
    return {name: ClientTable(c.features.only(columns), c.y) for name, c in clients.items()}


def _without(clients: Mapping[str, ClientTable], drop: Sequence[str]) -> dict[str, ClientTable]:
    names = next(iter(clients.values())).features.names
    for name in drop:
        if name not in names:
            raise unknown("column to drop", name, names)
    kept = [name for name in names if name not in drop]
    if not kept:
        raise DataError("no feature columns are left.")
    return {name: ClientTable(c.features.only(kept), c.y) for name, c in clients.items()}


def _without_missing(
    clients: dict[str, ClientTable], missing: MissingValues
) -> tuple[dict[str, ClientTable], list[str]]:
    """The tables without rows with missing values, where these are dropped, and how many were."""
    if missing == "fill":
        return clients, []
    answer, dropped = {}, {}
    for name, (table, y) in clients.items():
        holes = {column: table.missing(column) for column in table.names}
        some = np.logical_or.reduce(list(holes.values()))
        if missing == "refuse" and some.any():
            column = next(column for column, missing in holes.items() if missing.any())
            raise DataError(
                f"client {name!r} has {int(some.sum()):,} rows with missing values, such as row "
                f"{int(np.argmax(holes[column])) + 1} in column {column!r}; let them be filled in "
                "(--missing fill) or dropped (--missing drop)."
            )
        if some.all():
            raise DataError(
                f"client {name!r} has a missing value in every row; fill them in with --missing fill."
            )
        dropped[name] = int(some.sum())
        answer[name] = ClientTable(table.rows(~some), _some(y, ~some))
    count = sum(dropped.values())
    who = ", ".join(f"{name} {n:,}" for name, n in dropped.items() if n)
    return answer, [f"dropped {count:,} rows with missing values ({who})"] if count else []


def _some(y: Array | StringLabels, rows: Array) -> Array | StringLabels:
    return StringLabels(y.names, y.codes[rows]) if isinstance(y, StringLabels) else y[rows]


def _split_tables(
    clients: Mapping[str, ClientTable], test_fraction: float, validation_fraction: float, seed: int
) -> dict[str, Array]:
    """The part of every row, by client: those that the same rows as arrays would have."""
    sizes = [len(client.features) for client in clients.values()]
    owners = np.repeat(np.arange(len(sizes)), sizes)
    parts = assign_parts(owners, len(sizes), test_fraction, validation_fraction, seed)
    return dict(zip(clients, np.split(parts, np.cumsum(sizes)[:-1]), strict=True))


def _parts(x: Array, y: Array | StringLabels, parts: Array) -> dict[str, tuple[Array, Array | StringLabels]]:
    chosen = {part: parts == number for number, part in enumerate(PARTS)}
    return {part: (x[rows], _some(y, rows)) for part, rows in chosen.items() if rows.any() or part == "train"}


def _facts(client: str, table: Table, parts: Array) -> dict[str, ColumnFacts]:
    try:
        return facts_of(table.rows(parts == PARTS.index("train")))
    except DataError as error:
        raise DataError(f"client {client!r}: {error}") from None


def _preparation(facts: dict[str, dict[str, ColumnFacts]], prepare: str) -> Preparation | None:
    if prepare not in WAYS:
        return read_preparation(Path(prepare), list(next(iter(facts.values()))))
    if prepare == "never" or (prepare == "auto" and not needs_preparation(facts)):
        return None
    return fit_preparation(facts)


def _features(client: str, table: Table, preparation: Preparation | None) -> Array:
    return stack_numbers(client, table.columns) if preparation is None else preparation.apply(table)


def _say_missing(clients: Mapping[str, ClientTable]) -> list[str]:
    """In which columns values are missing, how many, and which words are read so."""
    counts = Counter[str]()
    for table, _ in clients.values():
        counts.update({name: int(table.missing(name).sum()) for name in table.names})
    some = [f"{name} {n:,}" for name, n in counts.items() if n]
    if not some:
        return []
    more = f" and {len(some) - MOST_SAID} more columns" if len(some) > MOST_SAID else ""
    return [f"missing values: {', '.join(some[:MOST_SAID])}{more} ({say_missing_words()} are read so)"]


def _remarks(table: Table, preparation: Preparation | None) -> list[str]:
    """What is strange in one client's columns."""
    return [*column_hints(table), *([] if preparation is None else preparation.remarks(table))]


def _say(facts: Mapping[str, Mapping[str, ColumnFacts]], preparation: Preparation) -> str:
    kinds = [column.kind for column in next(iter(facts.values())).values()]
    words = [column.name for column in preparation.columns if hasattr(column, "words")]
    said = [f"{len(kinds)} columns became {len(preparation.names)} features"]
    said += [f"words: {', '.join(words[:5])}"] if words else []
    return ", ".join(said)
