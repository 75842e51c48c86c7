"""Masked sums: pairwise masks that cancel in the sum.

Every two parties i < j share a secret, from which both expand the same random vector m_ij (K. Bonawitz et
al., "Practical Secure Aggregation for Privacy-Preserving Machine Learning", 2017). Party i sends

    x_i + sum_{j > i} m_ij - sum_{j < i} m_ji        modulo 2^320

which is uniformly random by itself, and whose sum over all parties is that of the x_i. All parties must send
theirs. Numbers are in fixed point with 100 bits after the point, so that a sum of double-precision numbers
is exact: it is rounded once, when it is read.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping

import numpy as np

from ..errors import UnalikeError
from ..typing import Array, Float64s

FEWEST = 3
"""Parties of a sum: of two, each would know the other's part."""
_FRACTION = 100
"""Bits after the point."""
WORDS = 5
"""64-bit words of a masked number."""
_BYTES = 8 * WORDS
_MODULUS = 1 << (8 * _BYTES)
LARGEST = 2.0**120


class MaskError(UnalikeError):
    """Numbers that cannot be masked, or masked vectors that cannot be added."""


def mask_vector(vector: Float64s, place: int, secrets: Mapping[int, bytes], label: bytes) -> Array:
    """A vector with masks: one row of 64-bit words for each entry.

    Args:
        vector: Finite numbers.
        place: The number of this party.
        secrets: The secret that this party shares with each other party, by their numbers.
        label: What the vector answers. Different vectors need different labels, or their difference shows.
    """
    numbers = [_fixed_point(value) for value in vector.tolist()]
    for other, secret in secrets.items():
        sign = 1 if place < other else -1
        masks = expand_mask(secret, label, len(numbers))
        numbers = [number + sign * mask for number, mask in zip(numbers, masks, strict=True)]
    raw = b"".join((number % _MODULUS).to_bytes(_BYTES, "little") for number in numbers)
    return np.frombuffer(raw, "<u8").astype(np.uint64).reshape(-1, WORDS)


def expand_mask(secret: bytes, label: bytes, count: int) -> list[int]:
    """So many random numbers below the modulus, the same for the same secret and label."""
    stream = hashlib.shake_256(len(secret).to_bytes(4, "little") + secret + label).digest(_BYTES * count)
    return [int.from_bytes(stream[_BYTES * i : _BYTES * (i + 1)], "little") for i in range(count)]


def add_masked(masked: Iterable[Array]) -> Float64s:
    """The sum of the vectors of all parties.

    >>> secret = {0: b"01", 1: b"02", 2: b"12"}
    >>> parts = [
    ...     mask_vector(np.array([0.1]), 0, {1: b"01", 2: b"02"}, b"ages"),
    ...     mask_vector(np.array([0.2]), 1, {0: b"01", 2: b"12"}, b"ages"),
    ...     mask_vector(np.array([-3e9]), 2, {0: b"02", 1: b"12"}, b"ages"),
    ... ]
    >>> add_masked(parts).tolist()
    [-2999999999.7]
    """
    vectors = [_read(part) for part in masked]
    if len({len(vector) for vector in vectors}) != 1:
        raise MaskError("masked vectors must have the same length.")
    return np.array([_read_number(sum(entries) % _MODULUS) for entries in zip(*vectors, strict=True)])


def _fixed_point(value: float) -> int:
    if not math.isfinite(value) or abs(value) >= LARGEST:
        raise MaskError("only finite numbers below 2^120 can be masked.")
    numerator, denominator = value.as_integer_ratio()
    return ((numerator << (_FRACTION + 1)) // denominator + 1) >> 1


def _read(masked: Array) -> list[int]:
    if masked.dtype != np.uint64 or masked.ndim != 2 or masked.shape[1] != WORDS:
        raise MaskError(f"a masked vector has {WORDS} 64-bit words for each entry.")
    raw = masked.astype("<u8").tobytes()
    return [int.from_bytes(raw[_BYTES * i : _BYTES * (i + 1)], "little") for i in range(len(masked))]


def _read_number(number: int) -> float:
    signed = number - _MODULUS if number >= _MODULUS // 2 else number
    if abs(signed) >= 1 << (_FRACTION + 140):  # a random number is smaller in one of 2^79 cases
        raise MaskError("the masks do not cancel: a party did not send its part of this sum.")
    return signed / (1 << _FRACTION)
