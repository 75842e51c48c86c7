"""Shakespeare: next-character prediction, one client per role.

Shakespeare's plays with speaking roles as clients (McMahan et al., "Communication-Efficient Learning of
Deep Networks from Decentralized Data", 2017; Caldas et al., "LEAF", 2018): from `sequence` characters,
predict the next one. Windows of a role overlap, so they are cut into train and test in the order of the
play, not at random.
"""

from __future__ import annotations

import gzip
import json

import numpy as np
from numpy.typing import NDArray

from ...core.plain_files import LARGEST_TEXT
from ...errors import DataError
from ...typing import Array
from ..sizes import whole
from .files import reading, require_local
from .source import Source, source_registry

FILE = "shakespeare_roles.json.gz"
_WHERE = 'gzipped JSON, {"PLAY.ROLE": text}, made from the plays at gutenberg.org/ebooks/100'


@source_registry.add("shakespeare")
def shakespeare(sequence: int = 80, stride: int = 20, windows: int = 500) -> Source:
    """Next character in Shakespeare's plays; speaking roles are the clients."""
    for value, what in ((sequence, "sequence"), (stride, "stride"), (windows, "windows")):
        whole(value, f"shakespeare's {what}")
    path = require_local(FILE, _WHERE)
    with reading(path, _WHERE), gzip.open(path, "rt", encoding="utf-8") as file:
        return from_roles(json.loads(file.read(LARGEST_TEXT)), sequence, stride, windows)


def from_roles(roles: dict[str, str], sequence: int, stride: int, windows: int) -> Source:
    """Windows of every role that speaks at least `sequence + 2` characters.

    >>> source = from_roles({"A": "to be or not", "B": "no"}, sequence=4, stride=2, windows=3)
    >>> source.x.shape, source.owner_names, source.label_names[source.y[0]]
    ((3, 4), ('A',), 'e')
    """
    symbols = sorted(set().union(*roles.values()))
    speaking = {name: text for name, text in roles.items() if len(text) >= sequence + 2}
    if not speaking:
        raise DataError(f"no role speaks {sequence + 2} characters; ask for a shorter sequence.")
    pieces = [_windows(_encode(text, symbols), sequence, stride, windows) for text in speaking.values()]
    rows = np.concatenate(pieces)
    return Source(
        rows[:, :-1],
        rows[:, -1],
        len(symbols),
        owners=np.repeat(np.arange(len(pieces)), [len(piece) for piece in pieces]),
        owner_names=tuple(speaking),
        label_names=tuple(symbols),
        ordered=True,
        description=f"Shakespeare's roles, {sequence} characters and the next one",
    )


def _encode(text: str, symbols: list[str]) -> NDArray[np.int32]:
    """Each character's place in the sorted vocabulary."""
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    return np.searchsorted(np.array([ord(symbol) for symbol in symbols], np.uint32), codes).astype(np.int32)


def _windows(codes: Array, sequence: int, stride: int, windows: int) -> Array:
    return np.lib.stride_tricks.sliding_window_view(codes, sequence + 1)[::stride][:windows]
