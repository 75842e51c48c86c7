"""Control characters and bidirectional marks in names.

A line break in a name makes two lines of one, an escape moves the cursor of a terminal, and U+202E turns
around what follows: a name that looks like another. Joiners, which many scripts need, are harmless.
"""

from __future__ import annotations

import unicodedata

_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_CONTROL = ("Cc", "Cs", "Zl", "Zp")


def is_hidden(letter: str) -> bool:
    """Whether a letter is a control character, a line break, half a pair, or turns text around.

    >>> [is_hidden(letter) for letter in ("a", " ", chr(10), chr(27), chr(0x202E), chr(0x200D))]
    [False, False, True, True, True, False]
    """
    return letter in _TURNING or unicodedata.category(letter) in _CONTROL


def has_hidden_letters(word: str) -> bool:
    """Whether a name holds such a letter."""
    return not word.isprintable() and any(map(is_hidden, word))


def replace_hidden_letters(line: str) -> str:
    """A line with a blank in place of every such letter, for a terminal.

    >>> replace_hidden_letters("a" + chr(27) + "[2Jb")
    'a [2Jb'
    """
    return "".join(" " if is_hidden(letter) else letter for letter in line)
