"""Mini-batch plan: which rows are in which batch, vectorized over clients.

Every pass over a client's rows is a uniform permutation: rows sorted by random bits that depend only on
(seed, job, client, pass, row); the job is the round, where rounds are what clients take part in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algorithms import LocalWork
from ...core.random import bits
from ...errors import ConfigError
from ...typing import ClientIds, Int64s

_SEGMENT_BITS = 24
MOST_PLANNED = 1 << 26
"""Rows in the mini-batches of one round; planning takes about fifty bytes for each."""
WORTH_SORTING = 0.5
"""Where more than this share of a pass is needed, all of it is sorted."""
Jobs = int | Int64s


class Batches(NamedTuple):
    """`positions[c, s, b]`: the row of client c that is sample b of its mini-batch s, or -1; `steps[c]`
    mini-batches are real."""

    positions: NDArray[np.int32]
    steps: NDArray[np.int32]


def plan_batches(
    work: LocalWork, sizes: Int64s, clients: ClientIds, jobs: Jobs, seed: int, widest: int
) -> Batches:
    """Mini-batches for a cohort with these numbers of rows, which depend on the round or on each client's
    job; `widest` bounds the batch where all rows are asked for."""
    width = max(1, min(work.batch_size or widest, widest))
    per_pass = -(-sizes // width)
    steps = _steps(work, per_pass)
    passes = np.where(sizes > 0, -(-steps // np.maximum(per_pass, 1)), 0)
    length = round_up(int(steps.max(initial=0)))
    _check_room(len(sizes), length, width, int((passes * sizes).sum()))
    positions = np.full((len(sizes), length, width), -1, np.int32)

    owner = np.repeat(np.arange(len(sizes)), passes)
    turn = _ranks(passes)
    job = jobs if isinstance(jobs, int) else jobs[owner]
    needed = np.minimum(sizes[owner], (steps[owner] - turn * per_pass[owner]) * width)
    rank, row, segment = _shuffle_rows(work, sizes[owner], clients[owner], turn, job, seed, needed)
    owner, turn = owner[segment], turn[segment]
    step = turn * per_pass[owner] + rank // width
    kept = step < steps[owner]
    positions[owner[kept], step[kept], rank[kept] % width] = row[kept]
    return Batches(positions, steps.astype(np.int32))


def lengthen_batches(batches: Batches, work: LocalWork, most: int, widest: int) -> Batches:
    """The same mini-batches with room for those of a client with `most` rows, so that a client whose rows
    come and go has plans of one shape."""
    clients, length, width = batches.positions.shape
    longest = int(_steps(work, np.array([-(-most // max(1, min(work.batch_size or widest, widest)))]))[0])
    room = max(round_up(longest) - length, 0)
    _check_room(clients, length + room, width, 0)
    return batches._replace(
        positions=np.pad(batches.positions, ((0, 0), (0, room), (0, 0)), constant_values=-1)
    )


def _check_room(clients: int, steps: int, width: int, drawn: int) -> None:
    """Raise for a plan that would take more than a few gigabytes."""
    planned = max(clients * steps * width, drawn)
    if planned > MOST_PLANNED:
        raise ConfigError(
            f"a round in which {clients:,} clients take up to {steps:,} steps of {width:,} rows is a plan of "
            f"{planned:,} rows; choose fewer epochs, steps or clients (at most {MOST_PLANNED:,})."
        )


def round_up(n: int) -> int:
    """The next of 1, 2, ..., 8, 10, 12, 14, 16, 20, ...: few shapes, little waste, so that programs are
    compiled rarely.

    >>> [round_up(n) for n in (0, 1, 5, 9, 17, 100)]
    [1, 1, 5, 10, 20, 112]
    """
    if n <= 8:
        return max(n, 1)
    unit = 1 << ((n - 1).bit_length() - 3)
    return -(-n // unit) * unit


def power_of_two(n: int) -> int:
    """The next power of two.

    >>> [power_of_two(n) for n in (1, 3, 8, 9)]
    [1, 4, 8, 16]
    """
    return 1 << max(n - 1, 0).bit_length()


def _steps(work: LocalWork, per_pass: Int64s) -> Int64s:
    if work.steps is not None:
        return np.where(per_pass > 0, work.steps, 0)
    return per_pass * (1 if work.epochs is None else work.epochs)


def _ranks(lengths: Int64s) -> Int64s:
    """0, 1, ..., length - 1 for each length, one after the other."""
    total = int(lengths.sum())
    starts = np.cumsum(lengths) - lengths
    return np.arange(total) - np.repeat(starts, lengths)


def _shuffle_rows(
    work: LocalWork,
    sizes: Int64s,
    clients: ClientIds,
    turn: Int64s,
    job: Jobs,
    seed: int,
    needed: Int64s,
) -> tuple[Int64s, Int64s, Int64s]:
    """(rank, row, segment) of at least the first `needed` entries of every pass: in a segment's order, place
    `rank` is taken by `row`."""
    segment = np.repeat(np.arange(len(sizes)), sizes)
    rank = _ranks(sizes)
    if not work.shuffle:
        return rank, rank, segment
    each = job if isinstance(job, int) else np.repeat(job, sizes)
    noise = bits(seed, "shuffle", each, np.repeat(bits(seed, "pass", clients, turn), sizes), rank)
    if (front := _front(noise, segment, sizes, needed)) is not None:
        rank, noise, segment = rank[front], noise[front], segment[front]
    # Segments stay in place, for their number fills the high bits; within one, the noise decides.
    ordered = np.argsort(
        (segment.astype(np.uint64) << np.uint64(64 - _SEGMENT_BITS)) | (noise >> np.uint64(_SEGMENT_BITS))
    )
    return _ranks(np.bincount(segment, minlength=len(sizes))), rank[ordered], segment


def _front(noise: NDArray[np.uint64], segment: Int64s, sizes: Int64s, needed: Int64s) -> Int64s | None:
    """Entries among which the first `needed` of every segment are: those with little noise. None for all.

    A few mini-batches of many rows need not sort all of them.
    """
    share = (needed + 6 * np.sqrt(needed) + 16) / np.maximum(sizes, 1)
    if not len(share) or share.max() > WORTH_SORTING:
        return None
    near = noise < (share * 2.0**64).astype(np.uint64)[segment]
    short = np.bincount(segment[near], minlength=len(sizes)) < needed
    if short.any():
        near |= short[segment]
    return np.flatnonzero(near)
