"""Missing values: the strings that stand for one, for features and labels alike."""

from __future__ import annotations

MISSING = ("", "NA", "N/A", "NaN", "null", "?")
"""Words that are read as missing, whatever their capitals and the blanks around them. `none` is not among
them: people use it for a category, such as no treatment."""
_SPELLED = frozenset(word.lower() for word in MISSING)


def is_missing_word(word: str) -> bool:
    """Whether a field of a table stands for a missing value.

    >>> is_missing_word(" NA"), is_missing_word("0"), is_missing_word("none")
    (True, False, False)
    """
    return word.strip().lower() in _SPELLED


def say_missing_words() -> str:
    """The list, for a person.

    >>> say_missing_words()
    'empty, NA, N/A, NaN, null, ?'
    """
    return ", ".join(word or "empty" for word in MISSING)
