"""Text columns of a table: categories, numbers or dates, and errors that name file and line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ...errors import DataError, UnalikeError
from ...typing import Array, Float64s
from ..missing_values import is_missing_word
from .agreement import LONGEST_LABEL, StringLabels, check_known_label, code_words

_KINDS: tuple[Callable[[str], int | float], ...]


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Whatever is wrong with a file becomes one sentence that names the client.

    Parsers of files that somebody made up fail in ways of their own (a token, a type, a recursion): nothing
    is run in here but they, so every exception is the file's.
    """
    try:
        yield
    except UnalikeError:
        raise
    except UnicodeDecodeError:
        raise DataError(
            f"client {path.stem!r}: {path.name} is not text in UTF-8; save the table as UTF-8."
        ) from None
    except Exception as error:
        raise DataError(f"client {path.stem!r}: {path.name} cannot be read ({in_short(error)}).") from None


def in_short(error: Exception) -> str:
    """The first line of what an error says, or its type where it says nothing."""
    first = (str(error).splitlines() or [""])[0].rstrip(". ")
    return first[:200] or type(error).__name__


def numbers_of(words: Sequence[str]) -> Float64s | None:
    """The numbers of one column, a gap being NaN; None where something in it is not a number."""
    try:
        return np.array([np.nan if is_missing_word(word) else float(word) for word in words])
    except ValueError:
        return None


def words_of(words: Sequence[str]) -> Array:
    """The words of one column, a gap being empty; longer ones than any class has are cut, to be refused."""
    kept = ["" if is_missing_word(word) else word.strip()[: LONGEST_LABEL + 1] for word in words]
    return np.array(kept, dtype=str)


def targets_of(client: str, words: Sequence[str]) -> Array | StringLabels:
    """Whole numbers where the text is whole numbers, floats where it is numbers, words otherwise; a label
    that is missing is refused with its row.

    >>> targets_of("a", ["1", "2"]), targets_of("a", ["1", "2.5"])
    (array([1, 2]), array([1. , 2.5]))
    """
    for word in filter(is_missing_word, dict.fromkeys(words)):
        check_known_label(client, word, f" in row {list(words).index(word) + 1}")
    for kind in _KINDS:
        try:
            values = {word: kind(word) for word in dict.fromkeys(words)}
        except ValueError:
            continue
        return np.array([values[word] for word in words])
    return code_words(client, words)


def _whole(word: str) -> int:
    """A whole number, at most the largest of 64 bits: labels of that size are refused anyway."""
    return max(min(int(word), 2**63 - 1), -(2**63))


_KINDS = (_whole, float)
