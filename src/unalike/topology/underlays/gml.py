"""Reading maps in GML (Himsolt, GML: A Portable Graph File Format, 1997).

A GML file is a list of keys and values, where a value is a number, a quoted text, or such a list in brackets:

    graph [ node [ id 0 label "Paris" ] node [ id 1 label "Lyon" ] edge [ source 0 target 1 distance 392.2 ] ]

Nothing is executed, and lists are kept in order because a key may come many times.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from ...core.spec import number_or_word
from ...errors import DataError

_TOKEN = re.compile(r'"([^"]*)"|([\[\]])|([^\s\[\]"]+)|(")')


class Block:
    """The keys and values between two brackets, in the order of the file.

    >>> read = parse_gml('graph [ node [ id 3 label "S&#227;o Paulo" ] ]')
    >>> read.block("graph").blocks("node")[0].get("label")
    'São Paulo'
    """

    def __init__(self) -> None:
        self.items: list[tuple[str, int | float | str | Block]] = []

    def get(self, key: str) -> int | float | str | None:
        """The first plain value of a key, in whatever case it is written; None if there is none."""
        for name, value in self.items:
            if name.lower() == key.lower() and not isinstance(value, Block):
                return value
        return None

    def number(self, key: str) -> float | None:
        """The same, where it is a number."""
        value = self.get(key)
        if not isinstance(value, int | float):
            return None
        try:
            return float(value)
        except OverflowError:
            raise DataError(f"the GML file has a {key} that is too large to compute with.") from None

    def blocks(self, key: str) -> list[Block]:
        """All lists of a key."""
        return [value for name, value in self.items if name.lower() == key and isinstance(value, Block)]

    def block(self, key: str) -> Block:
        """The only list of a key."""
        found = self.blocks(key)
        if len(found) != 1:
            raise DataError(f"a map in GML has one {key!r} list, but this file has {len(found)}.")
        return found[0]


def parse_gml(text: str) -> Block:
    """The whole file as one block; a `DataError` says on which line it is malformed."""
    whole = Block()
    open_blocks, key = [whole], None
    for line, kind, word in _tokens(text):
        if kind == "bracket" and word == "]":
            if key is not None or len(open_blocks) == 1:
                raise DataError(f"line {line} of the GML file has a ']' that closes nothing.")
            open_blocks.pop()
        elif key is None:
            if kind != "word":
                raise DataError(f"line {line} of the GML file has {word!r} where a key belongs.")
            key = word
        else:
            value = Block() if kind == "bracket" else word if kind == "text" else number_or_word(word)
            open_blocks[-1].items.append((key, value))
            if isinstance(value, Block):
                open_blocks.append(value)
            key = None
    if len(open_blocks) > 1 or key is not None:
        raise DataError("the GML file ends in the middle of a list; is it cut off?")
    return whole


def _tokens(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, kind and text of every token; lines that start with # are comments."""
    text = "\n".join("" if line.lstrip().startswith("#") else line for line in text.splitlines())
    line, seen = 1, 0
    for match in _TOKEN.finditer(text):
        line, seen = line + text.count("\n", seen, match.start()), match.start()
        quoted, bracket, word, stray = match.groups()
        if stray:
            raise DataError(f"line {line} of the GML file opens a quoted text that never ends.")
        if bracket:
            yield line, "bracket", bracket
        elif word:
            yield line, "word", word
        else:
            yield line, "text", html.unescape(quoted)
