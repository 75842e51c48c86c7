"""First principal direction of a client's rows: its message.

E. Buttaci, "Does Perturbation Aid Convergence?" (MSc thesis, Politecnico di Torino), chapter 3: a client
says one unit vector about itself, the first right singular vector of its rows X, neither centered nor scaled,

    m = argmax ||X v||  over  ||v|| = 1,

found by power iteration on X^T X from the mean row. That can stop at another singular vector, where the mean
row is orthogonal to the first (standardized columns beside a constant one). So what was found is taken only
where it is longer than all other directions together, ||X v||^2 > ||X||^2 / 2, as it is on images; otherwise
the rows are decomposed. Labels are not used. On images it is nearly the mean image; who sends it shows that
image (see `private_messages.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from ...core.pixels import as_floats
from ...errors import DataError
from ...typing import Array, ClientIds, Float64s, Int64s
from ..federation import Split

STEPS = 30
"""Of power iteration; rows whose two first directions are nearly as strong are decomposed instead."""

SURELY_FIRST = 0.501
"""A direction with more than this part of all squares is the first one, whatever the others are; a half, and
some for rounding."""


def principal_direction(rows: ArrayLike, raw_sign: bool = False) -> Float64s:
    """The unit vector along which rows are longest, with the sign of their mean.

    A singular vector has no sign of its own. With `raw_sign` it keeps the one that a decomposition happens to
    give, which can make two clients that are alike look opposite.

    >>> principal_direction([[3.0, 4.0], [6.0, 8.0]])
    array([0.6, 0.8])
    """
    x = _table(rows)
    mean = (np.ones(len(x), x.dtype) @ x).astype(np.float64) / max(len(x), 1)
    if not mean.any() and not x.any():
        raise DataError("a client whose features are all zero (or that has no rows) has no direction.")
    if raw_sign:
        return np.asarray(np.linalg.svd(x.astype(np.float64), full_matrices=False)[2][0])
    direction = _iterate(x, mean)
    if direction is None:
        direction = _decompose(x)
    return _with_sign_of(direction, mean)


def client_messages(split: Split, raw_sign: bool = False) -> tuple[ClientIds, Float64s]:
    """The clients that have a direction, and these, one per row; a client without non-zero rows has none."""
    pieces = (np.arange(a, b) for a, b in zip(split.offsets[:-1], split.offsets[1:], strict=True))
    return directions_of(split.x, pieces, raw_sign)


def signs_by_chance(split: Split, clients: ClientIds, messages: Float64s) -> int:
    """How many messages have a sign by chance: the rows' mean along the message is within two of its standard
    errors of zero, as it is where features are centered.

    >>> balanced = Split(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2), np.array([0, 2]))
    >>> signs_by_chance(balanced, np.array([0]), np.array([[1.0, 0.0]]))
    1
    """
    unsure = 0
    for i, message in zip(clients, messages, strict=True):
        x = _table(split.client(int(i))[0])
        along = x @ message.astype(x.dtype)
        unsure += bool(len(along) > 1 and abs(along.mean()) < 2 * along.std() / np.sqrt(len(along)))
    return unsure


def shuffled_messages(
    split: Split, rng: np.random.Generator, among: ClientIds | None = None
) -> tuple[ClientIds, Float64s]:
    """The messages that clients (or those among them) of the same sizes would have if rows were dealt to them
    at random."""
    pieces = np.split(rng.permutation(len(split.x)), split.offsets[1:-1])
    return directions_of(split.x, pieces if among is None else (pieces[i] for i in among))


def directions_of(x: Array, pieces: Iterable[Int64s], raw_sign: bool = False) -> tuple[ClientIds, Float64s]:
    """The directions of pieces of one table, each given by its row numbers, and the numbers of those pieces.

    >>> who, messages = directions_of(np.array([[2.0, 0.0], [0.0, 0.0], [0.0, 5.0]]), [[0], [1], [1, 2]])
    >>> who, messages.tolist()
    (array([0, 2]), [[1.0, 0.0], [0.0, 1.0]])
    """
    check_numbers(x)

    def direction(rows: Int64s) -> Float64s | None:
        mine = x[rows[0] : rows[-1] + 1] if _is_range(rows) else x[rows]
        some = mine[:1].any() or mine.any()  # the first row nearly always says it
        return principal_direction(mine, raw_sign) if some else None

    # Products of one client are too small to share between cores, which would wait for each other; clients
    # are not.
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(os.cpu_count()) as cores:
        every = enumerate(cores.map(direction, pieces))
        found = {i: message for i, message in every if message is not None}
    if not found:
        raise DataError("no client has a row that is not zero, so none has a direction to compare.")
    return np.array(list(found), np.int64), np.stack(list(found.values()))


def check_numbers(x: Array) -> None:
    """Raise unless features are numbers: the mean of symbols such as characters says nothing."""
    if as_floats(x[:1]).dtype.kind != "f":
        raise DataError("similarity of clients needs numbers as features, not symbols such as characters.")


def _is_range(rows: Sequence[int] | Int64s) -> bool:
    """Whether rows are consecutive, so that a view of them does."""
    return len(rows) > 0 and rows[-1] - rows[0] + 1 == len(rows) and bool((np.diff(rows) == 1).all())


def _table(rows: ArrayLike) -> Array:
    x = as_floats(np.asarray(rows))
    x = x.reshape(len(x), -1)
    return x if x.dtype in (np.float32, np.float64) else x.astype(np.float64)


def _iterate(x: Array, start: Float64s) -> Float64s | None:
    """Power iteration, or None where it is not there after some steps, or where what it found may not be the
    first direction."""
    length = np.linalg.norm(start)
    if not np.isfinite(length):
        raise DataError("features must be finite numbers, but some are missing or infinite.")
    if length == 0:
        return None  # any start would do, but which one is longest is then as hard to say
    close = 1e-10 if x.dtype == np.float32 else 1e-20
    last = (start / length).astype(x.dtype)
    for _ in range(STEPS):
        product = x.T @ (x @ last)
        size = np.linalg.norm(product)
        if size == 0:
            return None
        direction = product / size
        moved = direction - last
        if moved @ moved < close:
            if size <= SURELY_FIRST * float(np.vdot(x, x)):
                return None
            exact = direction.astype(np.float64)
            return np.asarray(exact / np.linalg.norm(exact))
        last = direction
    return None


def _decompose(x: Array) -> Float64s:
    """The same from the smaller of X^T X and X X^T."""
    wide = x.astype(np.float64)
    if len(wide) >= wide.shape[1]:
        return np.asarray(np.linalg.eigh(wide.T @ wide)[1][:, -1])
    direction = wide.T @ np.linalg.eigh(wide @ wide.T)[1][:, -1]
    return np.asarray(direction / np.linalg.norm(direction))


def _with_sign_of(direction: Float64s, mean: Float64s) -> Float64s:
    """Along the mean; where that says nothing, with a positive largest entry."""
    along = direction @ mean
    sign = np.sign(along) if along else np.sign(direction[np.argmax(np.abs(direction))])
    return np.asarray(sign * direction)
