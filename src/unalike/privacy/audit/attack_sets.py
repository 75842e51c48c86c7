"""Attack sets: distinct and balanced sets of members and non-members.

A row that is in two sets would be counted as leaked and as not leaked, so equal rows are kept once; as many
members as non-members of every client and class make guessing right half of the time, and let no attack live
on classes that one set has more of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...core.random import generator
from ...errors import DataError
from ...typing import Array, Bools, Int64s


class AttackSet(NamedTuple):
    """Rows to be told apart: places in a table of all rows, and which of them are members."""

    rows: Int64s
    member: Bools


class Distinct(NamedTuple):
    """Which rows of every set stay, and what was removed."""

    kept: dict[str, Bools]
    removed: dict[str, int]

    def said(self) -> list[str]:
        """What a person should know of it, a sentence each."""
        return [f"{count:,} {what} were removed." for what, count in self.removed.items() if count]


def distinct_sets(
    train: tuple[Array, Array], others: tuple[Array, Array], reference: tuple[Array, Array] | None = None
) -> Distinct:
    """Rows that are in one set only, once each. What is also a training row is no non-member; a row of the
    training and of the reference set tells nothing of either, and leaves both.

    >>> x, y = np.eye(3), np.zeros(3)
    >>> distinct_sets((x, y), (np.eye(3)[[2]] , np.zeros(1))).kept["others"].tolist()
    [False]
    """
    given = {"train": train, "others": others, **({} if reference is None else {"reference": reference})}
    keys = {name: row_keys(*pair) for name, pair in given.items()}
    first = {name: _first(found) for name, found in keys.items()}
    removed = {f"repeated {_WORDS[name]}": int((~once).sum()) for name, once in first.items()}
    kept = dict(first)
    if reference is not None:
        shared = np.intersect1d(keys["train"], keys["reference"])
        for name in ("train", "reference"):
            kept[name] = kept[name] & ~np.isin(keys[name], shared)
        removed["rows in both the training and the reference set"] = len(shared)
    inside = np.concatenate([keys[name] for name in keys if name != "others"])
    known = np.isin(keys["others"], inside)
    removed["non-members that equal a member"] = int((kept["others"] & known).sum())
    kept["others"] = kept["others"] & ~known
    return Distinct(kept, removed)


_WORDS = {"train": "training rows", "others": "non-members", "reference": "reference rows"}


def row_keys(x: Array, y: Array) -> Array:
    """A key per row, equal for equal rows."""
    parts = [np.ascontiguousarray(part.reshape(len(part), -1)) for part in (x, y)]
    if not len(x):
        return np.zeros(0, "V1")
    whole = np.concatenate([part.view(np.uint8).reshape(len(part), -1) for part in parts], axis=1)
    return np.ascontiguousarray(whole).view(f"V{whole.shape[1]}").reshape(-1)


def balance(member: Bools, strata: Mapping[str, Array], seed: int = 0) -> AttackSet:
    """As many members as non-members in every stratum (all equal values of `strata`), drawn at random.

    >>> found = balance(np.array([True, True, True, False]), {"class": np.zeros(4)})
    >>> len(found.rows), int(found.member.sum())
    (2, 1)
    """
    if member.all() or not len(member):
        raise DataError("there are no non-members; an audit needs test rows, such as --test-fraction 0.2.")
    if not member.any():
        raise DataError("there are no members left to attack; the set has no rows that are its own.")
    cells = _cells(strata, len(member))
    order = generator(seed, "audit balance").permutation(len(member))
    rank = {kind: _rank_in_cell(cells, order, member == kind) for kind in (True, False)}
    room = np.minimum(*(np.bincount(cells[member == kind], minlength=cells.max() + 1) for kind in rank))
    chosen = np.where(member, rank[True], rank[False]) < room[cells]
    rows = np.flatnonzero(chosen)
    if not len(rows):
        raise DataError("no client has members and non-members of one class, so nothing can be compared.")
    return AttackSet(rows, member[rows])


def _first(keys: Array) -> Bools:
    answer = np.zeros(len(keys), bool)
    answer[np.unique(keys, return_index=True)[1]] = True
    return answer


def _cells(strata: Mapping[str, Array], rows: int) -> Int64s:
    cells = np.zeros(rows, np.int64)
    for values in strata.values():
        codes = np.unique(values, return_inverse=True)[1].reshape(-1)
        cells = np.unique(cells * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1].reshape(-1)
    return cells


def _rank_in_cell(cells: Int64s, order: Int64s, mine: Bools) -> Int64s:
    """The place of every row among those of its kind in its cell, in a random order."""
    rank = np.zeros(len(cells), np.int64)
    drawn = order[mine[order]]
    by_cell = drawn[np.argsort(cells[drawn], kind="stable")]
    counts = np.bincount(cells[by_cell], minlength=int(cells.max(initial=0)) + 1)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    rank[by_cell] = np.arange(len(by_cell)) - starts
    return rank
