"""Digests of a federation: are these the same clients with the same rows?"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from ..typing import Array

if TYPE_CHECKING:
    from .federation import Federation

_PIECE = 1 << 24
"""Bytes that are copied at a time where an array is not one piece of memory."""


def data_digests(federation: Federation) -> dict[str, str]:
    """A digest of everything that training or testing may depend on, by the name that a person knows.

    >>> from .federation import Federation
    >>> rows = np.eye(4), np.array([0, 1, 1, 0]), np.array([1, 0, 1, 0])
    >>> list(data_digests(Federation.from_owners(*rows)))[:3]
    ['client names', 'class names', 'training rows']
    """
    weights = federation.given_importance
    return {
        "client names": _digest(repr(federation.names)),
        "class names": _digest(repr((federation.classes, federation.label_names))),
        "training rows": federation.train.digest,
        "validation rows": federation.validation.digest,
        "test rows": federation.test.digest,
        "client weights": _digest("" if weights is None else repr([f"{weight:.5g}" for weight in weights])),
        "groups": _digest(repr(federation.groups)),
    }


def digest_arrays(*arrays: Array) -> str:
    """A digest of some arrays' types, shapes and values."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.dtype} {array.shape}".encode())
        step = max(1, _PIECE // max(1, array[:1].nbytes))
        for start in range(0, len(array), step):
            found.update(np.ascontiguousarray(array[start : start + step]).data)
    return found.hexdigest()[:32]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
