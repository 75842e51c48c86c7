"""Labels and classes recomputed without some clients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ..typing import Keywords
from .federation import Federation, Split
from .train_test_split import PARTS


def label_again(federation: Federation, clients: ArrayLike) -> Federation:
    """All rows, with the classes that some row of the others has; a label that only these clients have
    becomes -1.

    >>> rows = {"a": (np.eye(2), ["ill", "well"]), "b": (np.eye(2), ["dead", "well"])}
    >>> again = label_again(Federation.from_clients(rows, test_fraction=0), [1])
    >>> again.label_names, again.train.y.tolist()
    (('ill', 'well'), [0, 1, -1, 1])
    """
    others = federation.without_rows(np.asarray(clients, np.int64))
    labels = np.unique(np.concatenate([getattr(others, part).y.ravel() for part in PARTS]))
    names, classes = federation.label_names, federation.classes
    if classes is None or len(labels) == classes:
        return federation
    if names is None:  # numbers speak for themselves: 0 to the largest
        labels = np.arange(int(labels.max()) + 1)
    codes = np.full(classes, -1, np.int32)
    codes[labels] = np.arange(len(labels), dtype=np.int32)
    parts: Keywords = {}
    for part in PARTS:
        split: Split = getattr(federation, part)
        parts[part] = replace(split, y=codes[split.y])
    named = None if names is None else tuple(names[label] for label in labels)
    return replace(federation, **parts, classes=len(labels), label_names=named)


def has_same_encoding(one: Federation, other: Federation) -> bool:
    """Whether the rows of two federations are coded in the same way, so that a model of one is one of the
    other."""
    names = ("preparation", "columns", "label_names", "classes", "input_shape")
    return all(getattr(one, name) == getattr(other, name) for name in names)
