"""Counter-based random numbers.

Every draw is a function of (seed, purpose, counters) and of nothing else, so a run is the same when it is
repeated, resumed or spread over more cores, and no draw depends on the order in which others were made.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import ArrayLike, NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of SplitMix64 (Steele, Lea and Flood, 2014): every input bit reaches every output bit."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def purpose_code(purpose: str) -> int:
    """A stable 32-bit number for a purpose's name."""
    return zlib.crc32(purpose.encode())


def bits(seed: int, purpose: str, *counters: ArrayLike) -> NDArray[np.uint64]:
    """64 random bits for every broadcast combination of the counters.

    >>> bits(1, "shuffle", 0, [7, 8]).shape
    (2,)
    >>> bool(bits(1, "shuffle", 0, 7) == bits(1, "shuffle", 0, [7, 8])[0])
    True
    """
    with np.errstate(over="ignore"):
        state = _mix(np.asarray(np.uint64(seed & 0xFFFFFFFFFFFFFFFF)) + _GOLDEN)
        for counter in (purpose_code(purpose), *counters):
            state = _mix(state + _GOLDEN * (np.asarray(counter).astype(np.uint64) + np.uint64(1)))
        return state


def generator(seed: int, purpose: str, *counters: int) -> np.random.Generator:
    """A NumPy generator of its own for (seed, purpose, counters).

    >>> float(generator(1, "partition").random()) == float(generator(1, "partition").random())
    True
    """
    words = [int(bits(seed, purpose, *counters, lane)) for lane in range(2)]
    return np.random.Generator(np.random.Philox(key=np.array(words, dtype=np.uint64)))
