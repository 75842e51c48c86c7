"""Agreement of client files on labels, columns and target.

Organizations write their tables apart: one has columns in another order, one has only ill patients, one
writes `Ill ` with a blank. What can be brought to one form is, by name; what cannot be decided is refused
with the names of those who differ. Nothing is ever matched by position once there are names.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...core.control_characters import has_hidden_letters
from ...errors import DataError
from ...typing import Array, Int64s, Keywords
from ..federation import Federation, Split
from ..missing_values import is_missing_word, say_missing_words
from ..train_test_split import PARTS
from ..validation import MOST_LABELS

LONGEST_LABEL = 200
"""Characters in the name of a class; a longer one is a text, not a class."""


class StringLabels(NamedTuple):
    """Labels that are words: the distinct ones, and for every row the place of its own among them."""

    names: tuple[str, ...]
    codes: Int64s


def spell(word: str) -> str:
    """A name without blanks around it, its accents written in one way."""
    return unicodedata.normalize("NFC", word.strip())


def code_words(client: str, words: Sequence[str]) -> StringLabels:
    """One client's labels, each word kept once; an empty or very long one is refused with its row.

    >>> code_words("basel", ["ill ", "well", "ill"])
    StringLabels(names=('ill', 'well'), codes=array([0, 1, 0]))
    """
    written: dict[str, int] = {}
    names: dict[str, int] = {}
    for row, word in enumerate(words, 1):
        if word not in written:
            name = spell(word)
            _check_label(client, name, f" in row {row}")
            written[word] = names.setdefault(name, len(names))
    return StringLabels(tuple(names), np.array([written[word] for word in words], np.int64))


def agree_labels(labels: Mapping[str, Sequence[str] | None]) -> tuple[str, ...] | None:
    """The names of all classes in alphabetical order, from the names that each client uses.

    None stands for labels that are numbers, which need no names. Words of more than one character that
    differ only in capitals are refused, as nobody but the clients knows whether they mean the same.

    >>> agree_labels({"basel": ["well", "ill"], "zurich": ["ill "]})
    ('ill', 'well')
    """
    words = {client: names for client, names in labels.items() if names is not None}
    if not words:
        return None
    if len(words) < len(labels):
        numbers = next(client for client in labels if client not in words)
        raise DataError(
            f"client {next(iter(words))!r} has words as labels but client {numbers!r} has numbers; "
            "use one of the two."
        )
    distinct = len(set().union(*words.values()))
    if distinct > MOST_LABELS:
        raise DataError(
            f"the labels are {distinct:,} different words, but classes are at most {MOST_LABELS:,}; is this "
            "the column to predict?"
        )
    users: dict[str, tuple[str, str]] = {}
    for client, names in words.items():
        for name in map(spell, names):
            _check_label(client, name)
            _check_capitals(client, name, users)
    return tuple(sorted({spell(name) for names in words.values() for name in names}))


def agree_columns(columns: Mapping[str, Sequence[str] | None]) -> tuple[str, ...] | None:
    """The names of all features in the order of the first client; others may have them in another order.

    None stands for features without names. They cannot be matched by name, so that either all clients have
    names or none has.

    >>> agree_columns({"basel": ["age", "weight"], "zurich": ["weight ", "age"]})
    ('age', 'weight')
    """
    named = {client: tuple(map(spell, names)) for client, names in columns.items() if names is not None}
    if not named:
        return None
    first = next(iter(named))
    if len(named) < len(columns):
        nameless = next(client for client in columns if client not in named)
        raise DataError(
            f"client {first!r} has names of columns but client {nameless!r} has none; give names to all "
            "clients, or to none."
        )
    for client, names in named.items():
        _check_once(client, names)
        _check_same_names(client, names, first, named[first])
    return named[first]


def agree_target(targets: Mapping[str, str | None]) -> str | None:
    """The name of the column that all clients predict, if it is the same one; None for data without names.

    >>> agree_target({"basel": "ill", "zurich": "ill "})
    'ill'
    """
    known = {client: spell(name) for client, name in targets.items() if name is not None}
    first = next(iter(known), None)
    for client, name in known.items():
        if first is not None and name != known[first]:
            raise DataError(
                f"client {client!r} would predict {name!r} but client {first!r} {known[first]!r}; "
                "name the same column for all with --label."
            )
    return None if first is None else known[first]


def same_kind(targets: Mapping[str, Array | StringLabels]) -> dict[str, Array | StringLabels]:
    """A regression's client may happen to hold whole targets only: floats anywhere mean floats everywhere.

    >>> same_kind({"a": np.array([1, 2]), "b": np.array([0.5])})
    {'a': array([1., 2.]), 'b': array([0.5])}
    """
    kinds = {"words" if isinstance(y, StringLabels) else y.dtype.kind for y in targets.values()}
    if "f" not in kinds or not kinds <= set("iuf"):
        return dict(targets)
    return {name: np.asarray(y, np.float64) for name, y in targets.items()}


def order_columns(x: Array, names: Sequence[str], wanted: Sequence[str]) -> Array:
    """Features whose columns are called `names` in the order of the `wanted` names.

    >>> order_columns(np.array([[1, 2]]), ["b", "a"], ["a", "b"])
    array([[2, 1]])
    """
    mine = [spell(name) for name in names]
    if mine == list(wanted):
        return x
    places = {name: place for place, name in enumerate(mine)}
    return x[:, [places[name] for name in wanted]]


def number_words(words: StringLabels, wanted: Sequence[str]) -> Int64s:
    """Labels as their places in the `wanted` names.

    >>> number_words(StringLabels(("well", "ill"), np.array([0, 0, 1])), ("ill", "well"))
    array([1, 1, 0])
    """
    places = {name: place for place, name in enumerate(wanted)}
    return np.array([places[name] for name in map(spell, words.names)], np.int64)[words.codes]


def translate(
    federation: Federation, label_names: Sequence[str] | None, columns: Sequence[str] | None
) -> Federation:
    """The same rows with labels numbered and columns ordered as agreed; None leaves them as they are."""
    parts: Keywords = {
        part: _translate(federation, getattr(federation, part), label_names, columns) for part in PARTS
    }
    if label_names is not None:
        parts |= {"label_names": tuple(label_names), "classes": len(label_names)}
    if columns is not None:
        parts["columns"] = tuple(columns)
    return replace(federation, **parts)


def _translate(
    federation: Federation, split: Split, label_names: Sequence[str] | None, columns: Sequence[str] | None
) -> Split:
    x, y = split.x, split.y
    if columns is not None and federation.columns is not None:
        x = order_columns(x, federation.columns, columns)
    if label_names is not None and federation.label_names is not None:
        y = number_words(StringLabels(federation.label_names, y), label_names).astype(y.dtype)
    return replace(split, x=x, y=y)


def check_known_label(client: str, name: str, where: str = "") -> None:
    """Raise for a label that is missing: empty, or a word that stands for a missing value in features too."""
    if not name.strip():
        raise DataError(f"client {client!r} has an empty label{where}; fill it in or drop the row.")
    if is_missing_word(name):
        raise DataError(
            f"client {client!r} has a missing label{where} ({name.strip()!r}; read as missing: "
            f"{say_missing_words()}); fill it in or drop the row."
        )


def _check_label(client: str, name: str, where: str = "") -> None:
    check_known_label(client, name, where)
    if len(name) > LONGEST_LABEL:
        raise DataError(
            f"client {client!r} has a label of {len(name):,} characters{where} ({name[:20]!r}...); classes "
            f"have names of at most {LONGEST_LABEL}."
        )
    if has_hidden_letters(name):
        raise DataError(
            f"client {client!r} has a label with a line break or another letter that cannot be seen{where} "
            f"({name[:40]!a}); write labels in letters that can."
        )


def _check_capitals(client: str, name: str, users: dict[str, tuple[str, str]]) -> None:
    """Remember who spells a label how, and refuse a second spelling."""
    other, user = users.setdefault(name.casefold() if len(name) > 1 else name, (name, client))
    if other != name:
        whose = f"client {client!r} too" if user == client else f"client {user!r}"
        raise DataError(
            f"client {client!r} has the label {name!r} but {whose} has {other!r}; write them alike, or "
            "differently in more than capitals."
        )


def _check_once(client: str, names: Sequence[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(
            f"client {client!r} has more than one column {twice[0]!r}; give every column a name of its own."
        )


def _check_same_names(client: str, names: Sequence[str], first: str, wanted: Sequence[str]) -> None:
    mine, theirs = set(names), set(wanted)
    missing = [name for name in wanted if name not in mine]
    extra = [name for name in names if name not in theirs]
    if missing or extra:
        said = [f"lacks {_list_names(missing)}"] * bool(missing) + [f"has also {_list_names(extra)}"] * bool(
            extra
        )
        raise DataError(
            f"client {client!r} has other columns than client {first!r}: it {' and '.join(said)}; give every "
            "client the same columns."
        )


def _list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(repr(name[:40]) for name in names[:5]) + more
