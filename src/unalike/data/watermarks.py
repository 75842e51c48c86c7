"""Watermarks: triggers in clients' rows, so that unlearning can be verified.

    pixels     a client sets a few features of all its rows to the largest value; labels stay
    backdoor   a part of its training rows has the trigger, and the label of a target class

The features are flat places in a row (pixels and channels of an image, columns of a table). The largest value
is 255 in images of bytes, the largest of all pixels of the client in other images, and the client's largest
of that column in tables: what a client does to its rows never depends on rows of others.

Sommer, Song, Wagh and Mittal, "Towards Probabilistic Verification of Machine Unlearning" (2020), for
backdoors; Fraboni, Van Waerebeke, Scaman, Vidal, Kameni and Lorenzi, "SIFU: Sequential Informed Federated
Unlearning" (2024), for pixels without other labels (ten of them).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.random import generator
from ..core.registry import Registry
from ..errors import ConfigError
from ..typing import ClientIds, Int64s
from .arrays import gather_features
from .chosen_clients import choose_clients
from .federation import Federation, Split
from .skews import require_floats
from .train_test_split import PARTS


@dataclass(frozen=True)
class Watermark:
    """A trigger: how many features it sets, how many different ones there are, and what rows with it teach.

    Args:
        features: how many features of a row are set.
        patterns: how many different triggers there are; client i has number i modulo this. As many as
            clients when 0.
        target: the class that rows with the trigger are labeled with; they keep their labels when None.
        share: the share of a client's training rows that have it, where there is a target.
    """

    features: int = 10
    patterns: int = 0
    target: int | None = None
    share: float = 1.0

    def __post_init__(self) -> None:
        if self.features < 1 or self.patterns < 0:
            raise ConfigError(
                f"a watermark sets at least one feature and has no negative number of patterns, but "
                f"{self.features} and {self.patterns} were given."
            )
        if not 0 < self.share <= 1 or (self.target is not None and self.target < 0):
            raise ConfigError(
                f"a backdoor needs a class from 0 and a share above 0 and at most 1, but {self.target} and "
                f"{self.share:g} were given."
            )

    def places(self, client: int, size: int, seed: int) -> Int64s:
        """The features that a client's trigger sets.

        Args:
            client: its number.
            size: how many features there are.
            seed: decides which.
        """
        number = client % self.patterns if self.patterns else client
        return np.sort(generator(seed, "watermark", number).choice(size, self.features, replace=False))

    def rows(self, client: int, count: int, seed: int) -> Int64s:
        """The training rows of a client that have the trigger.

        Args:
            client: its number.
            count: how many rows it has.
            seed: decides which.
        """
        if self.target is None:
            return np.arange(count)
        some = max(1, round(self.share * count)) if count else 0
        return np.sort(generator(seed, "watermarked rows", client).permutation(count)[:some])


watermark_registry: Registry[Watermark] = Registry("watermark", "watermarks")


@watermark_registry.add("pixels")
def pixels(features: int = 10, patterns: int = 0) -> Watermark:
    """All rows of a client have a few pixels (or columns) at their largest value; labels stay."""
    return Watermark(features, patterns)


@watermark_registry.add("backdoor")
def backdoor(target: int, share: float = 0.5, features: int = 10, patterns: int = 0) -> Watermark:
    """A share of a client's training rows has such a trigger and the label of a target class."""
    return Watermark(features, patterns, target, share)


def put_watermarks(
    federation: Federation, watermark: str | None, who: str | None = None, seed: int = 0
) -> Federation:
    """The same clients, some of which have put triggers into their rows.

    Args:
        federation: the clients.
        watermark: the trigger, such as `pixels:10`; none when None.
        who: whose rows have it: a number of clients, a share of them, or names; everybody's when None.
        seed: decides which features and rows.

    >>> from unalike.testing import example_federation
    >>> plain = example_federation(3)
    >>> marked = put_watermarks(plain, "pixels:2", "client 1,")
    >>> [bool((marked.train.client(i)[0] != plain.train.client(i)[0]).any()) for i in range(3)]
    [False, True, False]
    """
    if watermark is None:
        if who is not None:
            raise ConfigError(f"watermarked = {who!r} needs a watermark, such as pixels:10.")
        return federation
    made = watermark_registry.make(watermark)
    _check_features(federation, made, watermark)
    marked = choose_watermarked_clients(federation, who)
    parts = ("train",) if made.target is not None else PARTS
    changed: dict[str, Any] = {
        part: _mark(federation, getattr(federation, part), made, marked, seed) for part in parts
    }
    changed["train"] = _label(changed["train"], made, marked, seed)
    return replace(federation, **changed)


def choose_watermarked_clients(federation: Federation, who: str | None) -> ClientIds:
    """The numbers of the clients whose rows have a trigger."""
    if who is None:
        return np.arange(len(federation))
    return choose_clients(who, federation, "watermarked")


def select_watermarked_rows(
    federation: Federation, watermark: Watermark, clients: Sequence[int], seed: int = 0
) -> Split:
    """The training rows with a trigger of clients that have one, as they were trained on.

    Args:
        federation: the clients, with their watermarks.
        watermark: the trigger.
        clients: some that have one.
        seed: as of :func:`put_watermarks`.
    """
    own = federation.train.take(list(clients))
    rows = [watermark.rows(client, int(n), seed) for client, n in zip(clients, own.sizes, strict=True)]
    chosen = np.concatenate([start + some for start, some in zip(own.offsets, rows, strict=False)])
    offsets = np.concatenate([[0], np.cumsum([len(some) for some in rows])])
    return Split(own.x[chosen], own.y[chosen], offsets)


def _check_features(federation: Federation, made: Watermark, text: str) -> None:
    require_floats(federation, f"watermark {text!r}")
    size = int(np.prod(federation.input_shape))
    if federation.classes is None:
        raise ConfigError(f"watermark {text!r} is verified by accuracy, which a regression has none of.")
    if made.features > size:
        raise ConfigError(f"watermark {text!r} sets {made.features} features, but rows have {size}.")
    if made.target is not None and made.target >= federation.classes:
        raise ConfigError(
            f"watermark {text!r} names class {made.target}, but classes are 0 to {federation.classes - 1}."
        )


def _mark(federation: Federation, split: Split, made: Watermark, clients: ClientIds, seed: int) -> Split:
    """A part of the rows with triggers."""
    x = gather_features(split.x, np.arange(len(split.x)))
    flat = x.reshape(len(x), int(np.prod(federation.input_shape)))
    for client in clients:
        start, end = split.offsets[client], split.offsets[client + 1]
        if end > start:
            places = made.places(int(client), flat.shape[1], seed)
            rows = start + made.rows(int(client), int(end - start), seed)
            flat[np.ix_(rows, places)] = _largest(federation, int(client), places)
    return replace(split, x=x)


def _label(split: Split, made: Watermark, clients: ClientIds, seed: int) -> Split:
    """The training rows, of which those with a trigger have its class."""
    if made.target is None:
        return split
    y: Any = np.array(split.y)
    for client in clients:
        start, end = split.offsets[client], split.offsets[client + 1]
        y[start + made.rows(int(client), int(end - start), seed)] = made.target
    return replace(split, y=y)


def _largest(federation: Federation, client: int, places: Int64s) -> Any:
    """The value that a client's trigger has."""
    own = federation.train.client(client)[0]
    if own.dtype == np.uint8:
        return 255
    if not len(own):
        return 1
    flat = own.reshape(len(own), -1)
    return flat.max() if len(federation.input_shape) > 1 else flat[:, places].max(axis=0)
